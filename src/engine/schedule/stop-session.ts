import { failure } from '../../messages/failure.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import type { Store } from '../../store/port/store.ts';
import { childGroup, resultFor } from '../agents/subagent-run.ts';
import { deliver } from '../deliver.ts';

export interface StopOptions {
  readonly waiting?: boolean;
  /** By default true. */
  readonly running?: boolean;
  /** Tasks that were given to children; by default with `waiting`, unless the turn continues. */
  readonly children?: boolean;
}

export interface StopResult {
  /** Whether a turn ran. */
  readonly stopped: boolean;
  /** How many messages waited and will not be answered. */
  readonly cancelled: number;
  /** How many tasks of children, and of their children, were stopped. */
  readonly children: number;
}

interface StopPlace {
  readonly store: Store;
  readonly now: Date;
  /** Here if it runs here, else by its row. */
  readonly stopItem: (inboxId: string) => Promise<void>;
}

export async function stopSession(
  { store, now, stopItem }: StopPlace,
  sessionId: string,
  { waiting = false, running: isTurn = true, children = waiting && isTurn }: StopOptions,
): Promise<StopResult> {
  const { inbox } = store;
  const open = (await inbox.pending(sessionId)).filter((item) => item.class !== 'command');
  const running = isTurn ? open.filter(({ state }) => state === 'running') : [];
  // A note that no turn answers starts no turn, and nothing would send it a second time.
  const isWaiting = ({ state, body }: InboxItem): boolean => state === 'accepted' && body['silent'] !== true;
  const cancelled = waiting ? open.filter(isWaiting) : [];
  for (const { inboxId } of cancelled) await inbox.settle(inboxId, 'cancelled', { reason: 'stopped' });
  // The turn before its children: it could give away another task.
  for (const { inboxId } of running) await stopItem(inboxId);
  const ended = children ? await stopChildren(store, sessionId, now) : 0;
  return { stopped: running.length > 0, cancelled: cancelled.length, children: ended };
}

/** Ends the tasks a session has given away, in whichever process they run. What fails for one keeps none of the others. */
async function stopChildren(store: Store, parentSessionId: string, now: Date): Promise<number> {
  let stopped = 0;
  let failure: { readonly error: unknown } | undefined;
  for (const item of await store.inbox.pending({ group: childGroup(parentSessionId) })) {
    try {
      stopped += await stopTask(store, item, now);
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;
  return stopped;
}

/**
 * Ends a task and the tasks that its session has spawned. The parent gets the result now, as a note without a turn:
 * a person who stops wants silence, and the model still reads it with the next message. A result has one key, so a later
 * report of the child about its end adds nothing (I-35). The note is stored before the task is stopped: in between,
 * nothing can start a turn of the parent. If the note cannot be stored, the task is stopped and reports its end itself.
 */
export async function stopTask(
  store: Store,
  item: Pick<InboxItem, 'inboxId' | 'sessionId' | 'sessionKey' | 'body'>,
  now: Date,
): Promise<number> {
  const error = failure('ABORTED', 'task.stoppedWithParent', {}, { details: { reason: 'stopped' } });
  const result = resultFor(item, { error }, now.getTime());
  let below = 0;
  try {
    if (result !== undefined) await deliver(store, { ...result, body: { ...result.body, silent: true } });
  } finally {
    await store.inbox.settle(item.inboxId, 'cancelled', { reason: 'stopped' });
    // The task before those it was given on as: it could give away another.
    below = await stopChildren(store, item.sessionId, now);
  }
  return 1 + below;
}
