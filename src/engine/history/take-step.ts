import { RepriseError } from '../../errors.ts';
import { noneIfGone } from '../../store/port/nobody.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { customData, type Entry } from '../../transcript/entry.ts';
import {
  type Asked,
  assertAsked,
  earlierKey,
  findRequested,
  type Keyed,
  requestKey,
} from '../intake/keyed-request.ts';
import type { SessionLane } from '../schedule/session-lane.ts';
import { readHistory } from './read-history.ts';
import { resetTo, type Step, wasReset } from './undo.ts';

export interface UndoResult {
  /** Null if there is nothing to undo or redo. */
  readonly undone: 'turn' | 'compaction' | 'reset' | null;
  /** After a reset: the session that the key points to now. */
  readonly sessionId?: string;
}

export interface StepPlace {
  readonly store: Store;
  readonly lane: SessionLane;
  readonly sessionId: string;
}

export interface StepRequest extends Keyed {
  readonly asked: Extract<Asked, 'undo' | 'redo' | 'branch'>;
  readonly find: (all: readonly Entry[], record: SessionRecord) => Promise<Step | undefined>;
}

/**
 * Undoes, redoes or switches branches with one appended line. The first attempt is looked up under the session's
 * lease: of several calls with the same key, in any processes, only one takes the step (I-77).
 */
export async function takeStep(
  { store, lane, sessionId }: StepPlace,
  { asked, find, ...request }: StepRequest,
): Promise<UndoResult> {
  const { idempotencyKey } = request;
  const keyed = idempotencyKey === undefined ? {} : { key: requestKey(idempotencyKey) };
  const key = earlierKey(request);
  return lane.run(async ({ epoch }) => {
    const all = await readHistory(store, sessionId);
    const record = await store.get(sessionId);
    const done = key === undefined ? undefined : await stepTaken(store, { all, record, asked, key });
    if (done !== undefined) return done;
    const step = await find(all, record);
    if (step === undefined) return { undone: null };
    if (step.kind === 'reset') {
      const reason = asked === 'redo' ? 'redo' : 'undo';
      return moveKey(store, record, step.sessionId, { reason, ...keyed });
    }
    await store.append(sessionId, [step.entry], { epoch, ...keyed });
    return { undone: step.kind };
  });
}

interface StepHistory {
  readonly all: readonly Entry[];
  readonly record: SessionRecord;
  readonly asked: Asked;
  readonly key: string;
}

/**
 * The result of the first attempt, found by the line it wrote: in this session, or in the one that got the key when a
 * reset was undone.
 */
async function stepTaken(
  store: Store,
  { all, record, asked, key }: StepHistory,
): Promise<UndoResult | undefined> {
  const own = all.find(({ seal }) => seal?.k === key);
  if (own !== undefined) {
    assertAsked(asked, own);
    return { undone: own.type === 'compaction' ? 'compaction' : 'turn' };
  }
  const other = asked === 'redo' ? resetTo(all) : wasReset(all) ? record.parentId : undefined;
  if (other === undefined) return undefined;
  // The key was given back after the reset that had moved it.
  const moved = await findRequested(store, other, key, isResetTo(record.id)).catch(noneIfUntold);
  if (moved === undefined) return undefined;
  assertAsked(asked, moved.entry as Entry);
  return { undone: 'reset', sessionId: other };
}

/** A missing or unreadable other session has no answer; that is no reason to refuse a step in this one. */
function noneIfUntold(error: unknown): undefined {
  if (!(error instanceof RepriseError)) throw error;
  const isUnreadable =
    error.code === 'STORE_CORRUPT' || (error.code === 'STORE_FAILED' && error.outcome === 'none');
  return isUnreadable ? undefined : noneIfGone(error);
}

function isResetTo(sessionId: string): (entry: Entry) => boolean {
  return (entry) => customData(entry, 'reprise.reset')?.['next'] === sessionId;
}

/**
 * Allowed only for the active session of the key: otherwise the key was moved since, and this would undo another
 * change.
 */
async function moveKey(
  store: Store,
  { active, sessionKey }: SessionRecord,
  to: string,
  how: { readonly reason: 'undo' | 'redo'; readonly key?: string },
): Promise<UndoResult> {
  const other = await store.get(to).catch(noneIfGone);
  if (!active || other?.sessionKey !== sessionKey) return { undone: null };
  await store.activate(sessionKey, to, how);
  return { undone: 'reset', sessionId: to };
}
