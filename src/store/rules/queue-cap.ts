import { failure } from '../../messages/failure.ts';
import type { InboxItem, QueueLimit } from '../port/inbox.ts';

export interface Room {
  readonly dropped: readonly string[];
  /** Ids of dropped messages that the incoming message summarizes. */
  readonly carries: readonly string[];
}

export interface RoomPlan extends Room {
  /** A waiting message that summarizes the dropped ones from now on. */
  readonly heir?: { readonly inboxId: string; readonly carries: readonly string[] };
}

/**
 * Plans room for one more message under a cap: the new message is refused, or the oldest waiting ones are dropped.
 * With `summarize`, each dropped message and those it carries move to the next waiting one, so that its runner can
 * mention all of them.
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

/** Detail of a dropped message, as JSON. */
export const DROPPED_DETAIL: string = JSON.stringify({
  code: 'QUEUE_FULL',
  message: 'newer messages took its place in a full queue',
  reason: 'queue-full',
});
