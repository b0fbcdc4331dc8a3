import { RepriseError } from '../../errors.ts';
import type { QueueLimit } from '../store.ts';
import type { Database } from './database.ts';
import { queuedMessages } from './inbox-rows.ts';

export interface Room {
  readonly dropped: readonly string[];
  /** What the incoming message stands for besides itself. */
  readonly carries: readonly string[];
}

/**
 * Makes place for one more message under a cap: refuses it, or ends the oldest ones. With `summarize` each of those
 * goes on in the next one that waits, with all it carried itself, so that whoever runs that one can tell of them all.
 */
export function makeRoom(db: Database, sessionId: string, { cap, drop }: QueueLimit): Room {
  const waiting = queuedMessages(db, sessionId);
  if (waiting.length < cap) return { dropped: [], carries: [] };
  if (drop === 'new') {
    throw new RepriseError('QUEUE_FULL', `session ${sessionId} has ${waiting.length} messages waiting`, {
      details: { limit: cap },
    });
  }
  const leaving = waiting.slice(0, waiting.length - cap + 1);
  const heir = waiting[leaving.length];
  for (const { inboxId } of leaving)
    db.run("UPDATE inbox SET state = 'dropped', detail = ? WHERE id = ?", DETAIL, inboxId);
  const dropped = leaving.map(({ inboxId }) => inboxId);
  if (drop === 'old') return { dropped, carries: [] };
  const carries = leaving.flatMap(({ inboxId, carries: earlier = [] }) => [...earlier, inboxId]);
  if (heir === undefined) return { dropped, carries };
  const text = JSON.stringify([...carries, ...(heir.carries ?? [])]);
  db.run('UPDATE inbox SET carries = ? WHERE id = ?', text, heir.inboxId);
  return { dropped, carries: [] };
}

const DETAIL = JSON.stringify({
  code: 'QUEUE_FULL',
  message: 'newer messages took its place in a full queue',
  reason: 'queue-full',
});
