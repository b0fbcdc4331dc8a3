import type { SessionRecord, Store } from '../../store/port/store.ts';
import { customData, type Entry, entryTime } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { ticketOf } from '../schedule/queue.ts';

const PAGE = 50;
/** Reasons for which a session becomes the active one of its key again. */
const RETURNS: ReadonlySet<unknown> = new Set(['undo', 'redo']);

/**
 * When a person last wrote in a session. Entries that the engine writes by itself (events, settings, answers to events)
 * do not count as activity. Queued messages count. @returns undefined if no person has written.
 */
export async function lastSpokenAt(store: Store, { id, lastSeq }: SessionRecord): Promise<Date | undefined> {
  const waiting = (await store.inbox.pending(id)).filter((item) => item.class === 'message');
  if (waiting.length > 0) return new Date(Math.max(...waiting.map((item) => ticketOf(item).at)));
  for (let from = lastSeq; from > 1; ) {
    const { entries } = await store.read(id, { from, limit: PAGE, direction: 'backward' });
    for (const { entry } of entries) {
      const { message } = entry as { message?: unknown };
      // An undo or redo returned to this conversation, which counts as activity.
      if (RETURNS.has(customData(entry as Entry, 'reprise.activate')?.['reason']))
        return new Date(String(entry.timestamp));
      if (entry.type !== 'message' || !isObject(message) || message['role'] !== 'user') continue;
      const { timestamp } = message;
      return new Date(typeof timestamp === 'number' ? timestamp : entryTime(entry as Entry));
    }
    const oldest = entries.at(-1)?.seq ?? 1;
    from = oldest - 1;
  }
  return undefined;
}
