import { type ChatNames, isRole, isTime, type LineRow } from '../../rules/convlog-line.ts';
import type { Database } from '../../sqlite/database.ts';
import type { Row } from '../recovery/salvage-rows.ts';
import { countLine, OF_CHAT, openChat, saveChat, valuesOf } from './convlog-rows.ts';

export const LINE_COLUMNS: readonly string[] = [
  'agent_id',
  'channel_type',
  'channel_id',
  'number',
  'ts',
  'role',
  'content',
  'sender_id',
  'sender_name',
  'session_id',
  'message_id',
];

export function isLogLine({ agent_id, number, ts, role, content }: Row): boolean {
  if (!isAgent(agent_id) || !Number.isSafeInteger(number) || !isTime(ts) || !isRole(role)) return false;
  try {
    return typeof JSON.parse(String(content)) === 'string';
  } catch {
    // A byte was changed.
    return false;
  }
}

const isAgent = (id: unknown): boolean => typeof id === 'string' && /^[a-z0-9_][a-z0-9_-]{0,63}$/.test(id);

/**
 * Creates the chats of salvaged lines. If chats have files, the files are read again, and the salvaged lines wait
 * with numbers below 0 until they are found in the file or added after it. Otherwise the salvaged lines are all that
 * is left.
 */
export function adoptSalvagedLog(into: Database, { hasFiles }: { readonly hasFiles: boolean }): void {
  if (hasFiles) {
    const { low = 0, high = 0 } =
      into.row<{ low: number; high: number }>(
        'SELECT min(0, min(number)) AS low, max(0, max(number)) AS high FROM convlog_lines',
      ) ?? {};
    // Move them below all lines that already wait from an earlier salvage, so that no numbers collide.
    into.run('UPDATE convlog_lines SET number = number - ? WHERE number > 0', high + 1 - low);
  }
  const chats = into.rows<ChatNames>('SELECT DISTINCT agent_id, channel_type, channel_id FROM convlog_lines');
  for (const names of chats) {
    const row = openChat(into, names, hasFiles);
    if (hasFiles) continue;
    const lines = into
      .sql(`SELECT * FROM convlog_lines WHERE ${OF_CHAT} ORDER BY number`)
      .iterate(...valuesOf(names));
    for (const line of lines as IterableIterator<unknown> as IterableIterator<LineRow>)
      countLine(into, row, line);
    saveChat(into, row);
  }
}
