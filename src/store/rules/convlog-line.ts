import { escapeKeyPart, unescapeKeyPart } from '../../keys/escape.ts';
import { isObject } from '../../transcript/json.ts';
import type {
  ConvlogChatRef,
  ConvlogLine,
  ConvlogRole,
  ConvlogSender,
  StoredConvlogLine,
} from '../port/convlog.ts';

/** A row of `convlog_lines`. Names are escaped: the text of a database has no lone surrogates and breaks at NUL. */
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

/** What every database keeps of a chat in one row. */
export interface ChatState {
  readonly chat: number;
  readonly agent_id: string;
  readonly channel_type: string;
  readonly channel_id: string;
  messages: number;
  last_number: number;
  first_at: string;
  last_at: string;
  last_text: string;
}

/** The columns that name a chat. */
export type ChatNames = Pick<ChatState, 'agent_id' | 'channel_type' | 'channel_id'>;

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

/** What a chat's row says after one more line. */
export function addToChat(
  chat: Pick<ChatState, 'messages' | 'last_number' | 'first_at' | 'last_at' | 'last_text'>,
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
