import { z } from 'zod';
import type { Entry } from '../transcript/entry.ts';
import type { SessionFrame } from './events.ts';
import { type HistoryRow, historyRow, historyRowSchema } from './records.ts';

/** Events of a stream of stored entries: the session, then each entry of any branch when it is stored. */
export type FollowEvent = SessionFrame | { readonly type: 'row'; readonly row: HistoryRow };

export const followEventSchema: z.ZodType<FollowEvent> = z.discriminatedUnion('type', [
  z.object({ type: z.literal('session'), sessionId: z.string(), sessionKey: z.string() }),
  z.object({ type: z.literal('row'), row: historyRowSchema }),
]);

/** An entry that was stored just now is in the context. */
export function followRow(entry: Entry, seq: number): HistoryRow {
  return historyRow(entry, seq, new Set([entry.id]));
}
