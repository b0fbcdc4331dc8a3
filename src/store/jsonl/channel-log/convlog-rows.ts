import type { ConvlogLine } from '../../port/convlog.ts';
import {
  addToChat,
  type ChatNames,
  type ChatState,
  type LineRow,
  namesOf,
  toRow,
} from '../../rules/convlog-line.ts';
import type { Database } from '../../sqlite/database.ts';
import type { Batch } from '../../sqlite/write/batch.ts';

/** A row of `convlog_chats`, including the state of its file. */
export interface ChatRow extends ChatState {
  readonly file_number: number;
  readonly file_size: number;
  readonly synced_number: number;
  readonly synced_size: number;
  readonly unread: number;
}

export const OF_CHAT = 'agent_id = ? AND channel_type = ? AND channel_id = ?';
export const valuesOf = ({ agent_id, channel_type, channel_id }: ChatNames): [string, string, string] => [
  agent_id,
  channel_type,
  channel_id,
];

export function findChat(db: Database, names: ChatNames): ChatRow | undefined {
  const row = db.row<ChatRow>(`SELECT * FROM convlog_chats WHERE ${OF_CHAT}`, ...valuesOf(names));
  return row === undefined ? undefined : { ...row };
}

/** Finds or creates the chat with these names. `unread`: its file must be read before the chat is written to. */
export function openChat(db: Database, names: ChatNames, unread: boolean): ChatRow {
  db.run(
    'INSERT OR IGNORE INTO convlog_chats (agent_id, channel_type, channel_id, unread) VALUES (?, ?, ?, ?)',
    ...valuesOf(names),
    unread ? 1 : 0,
  );
  return findChat(db, names) as ChatRow;
}

/** Writes log lines in the transaction of the message or append, so that both are stored or neither. */
export function writeLog(batch: Batch, lines: readonly ConvlogLine[]): void {
  const { db } = batch;
  for (const line of lines) {
    const row = openChat(db, namesOf(line), false);
    addLine(db, row, toRow(line, row.last_number + 1, batch.now()));
    saveChat(db, row);
  }
}

/** Adds a line and updates the members and the chat object; the caller saves the chat's row. */
export function addLine(db: Database, chat: ChatRow, line: LineRow): void {
  const { number, ts, role, content, sender_id, sender_name, session_id, message_id } = line;
  db.run(
    'INSERT INTO convlog_lines VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ...valuesOf(chat),
    number,
    ts,
    role,
    content,
    sender_id,
    sender_name,
    session_id,
    message_id,
  );
  countLine(db, chat, line);
}

/** Updates the counts of a chat for a line that is already in the table. */
export function countLine(
  db: Database,
  chat: ChatRow,
  { number, ts, content, sender_id, sender_name }: LineRow,
): void {
  addToChat(chat, { number, ts, content });
  if (sender_id === null) return;
  db.run(
    `INSERT INTO convlog_members VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET last_number = excluded.last_number`,
    chat.chat,
    sender_id,
    sender_name ?? '',
    number,
  );
}

export function saveChat(
  db: Database,
  { chat, messages, last_number, first_at, last_at, last_text }: ChatRow,
): void {
  db.run(
    'UPDATE convlog_chats SET messages = ?, last_number = ?, first_at = ?, last_at = ?, last_text = ? WHERE chat = ?',
    messages,
    last_number,
    first_at,
    last_at,
    last_text,
    chat,
  );
}
