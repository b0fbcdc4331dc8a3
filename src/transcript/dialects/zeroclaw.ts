import type { JsonObject } from '../json.ts';

/** ZeroClaw stores rows of `session_messages`; a summary is an assistant row with this first line. */
const SUMMARY_PREFIX = '[Session Compaction Summary]\n';

export function isMessageRow(record: JsonObject): boolean {
  return record['type'] === undefined && typeof record['role'] === 'string' && 'content' in record;
}

/** Whether this is the boundary row of `session_state`. It repeats facts of the summary row after it. */
export function isBoundaryRow(record: JsonObject): boolean {
  return record['type'] === undefined && record['key'] === 'compaction_after_message_id';
}

export function summaryOfRow(record: JsonObject): string | undefined {
  const { role, content } = record;
  if (role !== 'assistant' || typeof content !== 'string') return undefined;
  return content.startsWith(SUMMARY_PREFIX) ? content.slice(SUMMARY_PREFIX.length) : undefined;
}
