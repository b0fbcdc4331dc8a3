import { escapeKeyPart, unescapeKeyPart } from '../../keys/escape.ts';
import { isObject } from '../../transcript/json.ts';
import type {
  ConvlogChatRef,
  ConvlogLine,
  ConvlogRole,
  ConvlogSender,
  StoredConvlogLine,
} from '../convlog.ts';
import type { Batch } from './batch.ts';
import type { Database } from './database.ts';

/** A row of `convlog_lines`. Names are escaped: SQLite's text has no lone surrogates and breaks at NUL. */
export interface LineRow {
  readonly number: number;
  readonly ts: string;
  readonly role: string;
  readonly content: string;
  readonly sender_id: string | null;
  readonly sender_name: string | null;
  readonly session_id: string | null;
  readonly message_id: string | null;
}

export interface ChatRow {
  readonly chat: number;
  readonly agent_id: string;
  readonly channel_type: string;
  readonly channel_id: string;
  messages: number;
  last_number: number;
  first_at: string;
  last_at: string;
  last_text: string;
  readonly file_number: number;
  readonly file_size: number;
  readonly synced_number: number;
  readonly synced_size: number;
  readonly unread: number;
}

/** The columns that name a chat. */
export type ChatNames = Pick<ChatRow, 'agent_id' | 'channel_type' | 'channel_id'>;

export const OF_CHAT = 'agent_id = ? AND channel_type = ? AND channel_id = ?';
const PREVIEW_CHARS = 200;
const ROLES: ReadonlySet<unknown> = new Set<ConvlogRole>(['user', 'assistant', 'system']);
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export const isRole = (role: unknown): role is ConvlogRole => ROLES.has(role);

/** As the store writes times: other spellings of the same moment would not sort. */
export const isTime = (ts: unknown): ts is string => typeof ts === 'string' && ISO.test(ts);

export function namesOf({ agentId, channelType, channelId }: ConvlogChatRef): ChatNames {
  return {
    agent_id: agentId,
    channel_type: escapeKeyPart(channelType),
    channel_id: escapeKeyPart(channelId),
  };
}

export const valuesOf = ({ agent_id, channel_type, channel_id }: ChatNames): [string, string, string] => [
  agent_id,
  channel_type,
  channel_id,
];

export function findChat(db: Database, names: ChatNames): ChatRow | undefined {
  const row = db.row<ChatRow>(`SELECT * FROM convlog_chats WHERE ${OF_CHAT}`, ...valuesOf(names));
  return row === undefined ? undefined : { ...row };
}

/** The chat of these names, made if there is none. `unread`: its file has to be read before it can be written to. */
export function openChat(db: Database, names: ChatNames, unread: boolean): ChatRow {
  db.run(
    'INSERT OR IGNORE INTO convlog_chats (agent_id, channel_type, channel_id, unread) VALUES (?, ?, ?, ?)',
    ...valuesOf(names),
    unread ? 1 : 0,
  );
  return findChat(db, names) as ChatRow;
}

/** In the transaction of whatever was said: accepted and logged are one thing. */
export function writeLog(batch: Batch, lines: readonly ConvlogLine[]): void {
  const { db } = batch;
  for (const line of lines) {
    const row = openChat(db, namesOf(line), false);
    addLine(db, row, toRow(line, row.last_number + 1, batch.now()));
    saveChat(db, row);
  }
}

export function toRow(
  { role, content, sender, ts, sessionId, messageId }: ConvlogLine,
  number: number,
  now: string,
): LineRow {
  return {
    number,
    ts: ts ?? now,
    role,
    content: JSON.stringify(content),
    sender_id: sender === undefined ? null : escapeKeyPart(sender.id),
    sender_name: sender?.name === undefined ? null : escapeKeyPart(sender.name),
    session_id: sessionId ?? null,
    message_id: messageId === undefined ? null : escapeKeyPart(messageId),
  };
}

/** Adds a line and what it says about its chat; the chat's own row is saved by the caller. */
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

/** For a line that stands in the table already. */
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

/** What a chat's row says after one more line. */
export function addToChat(
  chat: Pick<ChatRow, 'messages' | 'last_number' | 'first_at' | 'last_at' | 'last_text'>,
  { number, ts, content }: Pick<LineRow, 'number' | 'ts' | 'content'>,
): void {
  chat.messages++;
  chat.last_number = number;
  if (chat.first_at === '' || ts < chat.first_at) chat.first_at = ts;
  // An older message that became known late is not what was said last.
  if (ts < chat.last_at) return;
  chat.last_at = ts;
  chat.last_text = preview(JSON.parse(content) as string);
}

/** Half a character at the cut would be shown as none. */
function preview(text: string): string {
  return escapeKeyPart(text.slice(0, PREVIEW_CHARS).replace(/[\ud800-\udbff]$/, ''));
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

export function toLine(names: ChatNames, row: LineRow): StoredConvlogLine {
  const sender = senderOf(row.sender_id, row.sender_name);
  return {
    number: row.number,
    agentId: names.agent_id,
    channelType: unescapeKeyPart(names.channel_type),
    channelId: unescapeKeyPart(names.channel_id),
    ts: row.ts,
    role: row.role as ConvlogRole,
    content: JSON.parse(row.content) as string,
    ...(sender !== undefined && { sender }),
    ...(row.session_id !== null && { sessionId: row.session_id }),
    ...(row.message_id !== null && { messageId: unescapeKeyPart(row.message_id) }),
  };
}

export function senderOf(id: string | null, name: string | null): ConvlogSender | undefined {
  if (id === null) return undefined;
  return { id: unescapeKeyPart(id), ...(name !== null && { name: unescapeKeyPart(name) }) };
}

/** A line as it stands in the chat's file, with its LF. */
export function encodeLogLine(line: ConvlogLine): string {
  const { ts, role, content, channelId, channelType, sender } = line;
  return `${JSON.stringify({ ts, role, content, channelId, channelType, sender })}\n`;
}

/** Undefined for everything that is not a line of ours. */
export function decodeLogLine(bytes: Uint8Array, agentId: string): ConvlogLine | undefined {
  let record: unknown;
  try {
    record = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
  } catch {
    // Torn, or another tool's.
    return undefined;
  }
  if (!isObject(record)) return undefined;
  const { ts, role, content, channelId, channelType, sender } = record;
  if (!isTime(ts) || !isRole(role) || typeof content !== 'string') return undefined;
  if (typeof channelId !== 'string' || typeof channelType !== 'string') return undefined;
  const line = { agentId, channelType, channelId, ts, role, content };
  if (sender === undefined) return line;
  if (!isObject(sender) || typeof sender['id'] !== 'string') return undefined;
  const { id, name } = sender;
  return { ...line, sender: { id, ...(typeof name === 'string' && { name }) } };
}
