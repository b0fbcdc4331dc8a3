import { RepriseError } from '../../errors.ts';
import type { Database } from '../control/database.ts';
import { queuedMessages } from '../control/inbox-rows.ts';
import type { InboxItem, QueueLimit } from '../store.ts';

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
 * Makes place for one more message under a cap: refuses it, or ends the oldest ones. With `summarize` each of those
 * goes on in the next one that waits, with all it carried itself, so that whoever runs that one can tell of them all.
 */
export function makeRoom(db: Database, sessionId: string, limit: QueueLimit): Room {
  const { dropped, carries, heir } = planRoom(sessionId, queuedMessages(db, sessionId), limit);
  for (const inboxId of dropped)
    db.run("UPDATE inbox SET state = 'dropped', detail = ? WHERE id = ?", DROPPED_DETAIL, inboxId);
  if (heir !== undefined)
    db.run('UPDATE inbox SET carries = ? WHERE id = ?', JSON.stringify(heir.carries), heir.inboxId);
  return { dropped, carries };
}

/** Who has to go of those that wait, oldest first. */
export function planRoom(
  sessionId: string,
  waiting: readonly InboxItem[],
  { cap, drop }: QueueLimit,
): RoomPlan {
  if (waiting.length < cap) return { dropped: [], carries: [] };
  if (drop === 'new') {
    throw new RepriseError('QUEUE_FULL', `session ${sessionId} has ${waiting.length} messages waiting`, {
      details: { limit: cap },
    });
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
