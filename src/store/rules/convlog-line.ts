import { escapeKeyPart, unescapeKeyPart } from '../../keys/escape.ts';
import { isObject } from '../../transcript/json.ts';
import type {
  ConvlogChatRef,
  ConvlogLine,
  ConvlogRole,
  ConvlogSender,
  StoredConvlogLine,
} from '../port/convlog.ts';

/** A row of `convlog_lines`. Names are escaped, because a database's text allows neither lone surrogates nor NUL. */
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

/** The row of a chat, the same in every database. */
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

/** The columns that identify a chat. */
export type ChatNames = Pick<ChatState, 'agent_id' | 'channel_type' | 'channel_id'>;

const PREVIEW_CHARS = 200;
const ROLES: ReadonlySet<unknown> = new Set<ConvlogRole>(['user', 'assistant', 'system']);
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

export const isRole = (role: unknown): role is ConvlogRole => ROLES.has(role);

/** Whether a time has the store's format; other formats of the same moment would sort differently. */
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

/** Updates a chat's row with one more line. */
export function addToChat(
  chat: Pick<ChatState, 'messages' | 'last_number' | 'first_at' | 'last_at' | 'last_text'>,
  { number, ts, content }: Pick<LineRow, 'number' | 'ts' | 'content'>,
): void {
  chat.messages++;
  chat.last_number = number;
  if (chat.first_at === '' || ts < chat.first_at) chat.first_at = ts;
  // An older message that arrives late does not become the last one.
  if (ts < chat.last_at) return;
  chat.last_at = ts;
  chat.last_text = preview(JSON.parse(content) as string);
}

/** The start of a text, without half a surrogate pair at the cut. */
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

/** Encodes a line as in the chat's file, including its LF. */
export function encodeLogLine(line: ConvlogLine): string {
  const { ts, role, content, channelId, channelType, sender } = line;
  return `${JSON.stringify({ ts, role, content, channelId, channelType, sender })}\n`;
}

/** @returns `undefined` for anything that is not a line of Reprise. */
export function decodeLogLine(bytes: Uint8Array, agentId: string): ConvlogLine | undefined {
  let record: unknown;
  try {
    record = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString());
  } catch {
    // Torn, or a line of another tool.
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
