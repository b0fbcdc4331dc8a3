import { failure } from '../../messages/failure.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { ancestorsOf } from '../agents/session-reach.ts';
import { pause } from '../clock.ts';
import type { EngineContext } from '../engine-context.ts';
import { ended, failureText, isOpen } from './item-end.ts';

/** Between two polls if no change is reported. */
const LOOK_MS = 1000;
/** More sessions than this in one chain are taken for a circle. */
const MAX_WAITERS = 1000;

/** Part of the body of a message that a caller waits for: durable, so that other processes see who waits for whom. */
export function waitMark(caller: SessionRecord, until: number): JsonObject {
  return { waitedBy: caller.id, waitedUntil: until };
}

/**
 * Waiting must end: a session must not wait for one that waits for it, directly or through others, nor for one that may
 * be waiting for its child. Checked again once the own message is stored, so it also holds for two concurrent calls.
 */
export async function assertMayWait(
  { store, options }: EngineContext,
  caller: SessionRecord,
  target: SessionRecord,
): Promise<void> {
  if ((await ancestorsOf(store, caller)).includes(target.id))
    throw failure('FORBIDDEN', 'tool.waitsForParent');
  const waiters = await waitersOf(store, caller.id, options.clock.now().getTime());
  if (waiters.has(target.id)) throw failure('FORBIDDEN', 'tool.waitsForItself');
}

/** Every session that waits for this one now, over however many others. */
async function waitersOf(store: Store, sessionId: string, now: number): Promise<Set<string>> {
  const found = new Set<string>();
  const next = [sessionId];
  for (let id = next.pop(); id !== undefined && found.size < MAX_WAITERS; id = next.pop()) {
    for (const { body } of await store.inbox.pending(id)) {
      const { waitedBy, waitedUntil } = body;
      if (typeof waitedBy !== 'string' || found.has(waitedBy)) continue;
      if (!(typeof waitedUntil === 'number' && waitedUntil > now)) continue;
      found.add(waitedBy);
      next.push(waitedBy);
    }
  }
  return found;
}

export interface WaitOptions {
  /** Unix ms, by the engine's clock. */
  readonly until: number;
  readonly signal: AbortSignal;
}

/** The row as it ended, in whichever process; undefined: it has not, and the time is over or this engine closes. */
export async function untilEnded(
  { store, inboxSignal, closing, options: { clock } }: EngineContext,
  { inboxId, sessionId }: Pick<InboxItem, 'inboxId' | 'sessionId'>,
  { until, signal }: WaitOptions,
): Promise<InboxItem | undefined> {
  const over = AbortSignal.any([signal, closing.signal]);
  for (;;) {
    const look = new AbortController();
    const either = AbortSignal.any([over, look.signal]);
    // Asked for before looking, no change is missed.
    const change = inboxSignal.wait(sessionId, either);
    try {
      const item = await ended(store, inboxId);
      if (!isOpen(item)) return item;
      const leftMs = until - clock.now().getTime();
      if (leftMs <= 0 || over.aborted) return undefined;
      await Promise.race([change, pause(clock, Math.min(leftMs, LOOK_MS), either)]);
    } finally {
      look.abort();
    }
  }
}

/** How it ended, for the model that waited. */
export function endFor({ state, detail = {} }: InboxItem): JsonObject {
  const { text } = isObject(detail) ? detail : {};
  if (state === 'done') return { status: 'done', reply: typeof text === 'string' ? text : '' };
  return { status: state, error: failureText(detail, state) };
}
