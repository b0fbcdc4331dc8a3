import { failure } from '../../messages/failure.ts';
import type { InboxItem, QueueLimit } from '../port/store.ts';

export interface Room {
  readonly dropped: readonly string[];
  /** What the incoming message stands for besides itself. */
  readonly carries: readonly string[];
}

export interface RoomPlan extends Room {
  /** One that waits and stands for what was dropped from now on. */
  readonly heir?: { readonly inboxId: string; readonly carries: readonly string[] };
}

/**
 * How place is made for one more message under a cap: it is refused, or the oldest of those that wait have to go. With
 * `summarize` each of those goes on in the next one that waits, with all it carried itself, so that whoever runs that
 * one can tell of them all.
 */
export function planRoom(
  sessionId: string,
  waiting: readonly InboxItem[],
  { cap, drop }: QueueLimit,
): RoomPlan {
  if (waiting.length < cap) return { dropped: [], carries: [] };
  if (drop === 'new') {
    throw failure(
      'QUEUE_FULL',
      'session.queueFull',
      { id: sessionId, waiting: waiting.length },
      { details: { limit: cap } },
    );
  }
  const leaving = waiting.slice(0, waiting.length - cap + 1);
  const heir = waiting[leaving.length];
  const dropped = leaving.map(({ inboxId }) => inboxId);
  if (drop === 'old') return { dropped, carries: [] };
  const carries = leaving.flatMap(({ inboxId, carries: earlier = [] }) => [...earlier, inboxId]);
  if (heir === undefined) return { dropped, carries };
  const all = [...carries, ...(heir.carries ?? [])];
  return { dropped, carries: [], heir: { inboxId: heir.inboxId, carries: all } };
}

/** Of a row that had to go, as JSON. */
export const DROPPED_DETAIL: string = JSON.stringify({
  code: 'QUEUE_FULL',
  message: 'newer messages took its place in a full queue',
  reason: 'queue-full',
});
