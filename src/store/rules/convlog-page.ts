import { unescapeKeyPart } from '../../keys/escape.ts';
import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import { CONVLOG_MEMBERS, type ConvlogChat, type ConvlogSender } from '../port/convlog.ts';
import { LOOK_BYTES } from '../shared/look-bytes.ts';
import { type ChatState, type LineRow, senderOf } from './convlog-line.ts';

/* Paging of the channel log, shared by all databases. */

/** Default page size, for chats and for lines. */
export const PAGE = 50;
export const MAX_CHATS = 200;
export const MAX_LINES = 1000;
export const CHATS_PER_STEP = 500;
export const LINES_PER_STEP = 500;
/** Default time limit, about as long as a person waits. */
const BUDGET_MS = 1000;
/** Limit of a page: what one message between threads may hold. */
export const MAX_PAGE_CHARS: number = 4 * LOOK_BYTES;
export const MEMBER_ROWS: number = 4 * CONVLOG_MEMBERS;

/**
 * Where a list continues: after a chat in its order and, if the time limit ended the search inside the next chat,
 * before a line of it.
 */
export interface Place {
  readonly by: string | number;
  readonly chat: number;
  readonly inside?: { readonly chat: number; readonly before: number };
}

export const START: Place = { by: '', chat: 0 };

/** Converts a chat's row to the port's format. */
export function chatOf(row: ChatState, members: readonly MemberRow[]): ConvlogChat {
  return {
    agentId: row.agent_id,
    channelType: unescapeKeyPart(row.channel_type),
    channelId: unescapeKeyPart(row.channel_id),
    messages: row.messages,
    firstAt: row.first_at,
    lastAt: row.last_at,
    lastText: unescapeKeyPart(row.last_text),
    members: membersOf(members),
  };
}

export interface MemberRow {
  readonly sender_id: string;
  readonly sender_name: string;
}

/** Each member with its most recent name; rows are sorted newest first. */
function membersOf(rows: readonly MemberRow[]): ConvlogSender[] {
  const members = new Map<string, ConvlogSender>();
  for (const { sender_id, sender_name } of rows) {
    const sender = senderOf(sender_id, sender_name === '' ? null : sender_name);
    if (sender !== undefined && !members.has(sender_id)) members.set(sender_id, sender);
  }
  return [...members.values()].slice(0, CONVLOG_MEMBERS);
}

export const holds = (content: string, words: string): boolean =>
  (JSON.parse(content) as string).toLowerCase().includes(words);

export const isBy = (
  { sender_id, sender_name }: Pick<LineRow, 'sender_id' | 'sender_name'>,
  member: string,
): boolean => sender_id === member || sender_name?.toLowerCase() === member.toLowerCase();

export function sizeOf(limit: number, most: number): number {
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: 'limit',
      value: quotedValue(limit),
      expected: [{ is: 'integer', min: 1 }],
    });
  return Math.min(limit, most);
}

export function deadlineOf({ budgetMs = BUDGET_MS }: { readonly budgetMs?: number }): number {
  if (!(budgetMs >= 0))
    throw failure('INVALID_INPUT', 'value.wrong', {
      field: 'budgetMs',
      value: quotedValue(budgetMs),
      expected: [{ is: 'number', min: 0 }],
    });
  return performance.now() + budgetMs;
}

export function formatCursor({ by, chat, inside }: Place, sort: string): string {
  const place = [sort, by, chat, ...(inside === undefined ? [] : [inside.chat, inside.before])];
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

export function parseCursor(cursor: string, sort: string): Place {
  try {
    const place = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    const [order, by, chat, inside, before] = place;
    const isPlace = order === sort && Number.isSafeInteger(chat);
    // Also refuse a NUL, which databases reject.
    const isTime = typeof by === 'string' && !by.includes('\0');
    const isBy = chat === 0 || (sort === 'time' ? isTime : Number.isSafeInteger(by));
    if (isPlace && isBy && Number.isSafeInteger(inside) && Number.isSafeInteger(before))
      return {
        by: by as string,
        chat: chat as number,
        inside: { chat: inside as number, before: before as number },
      };
    if (isPlace && isBy && place.length === 3) return { by: by as string, chat: chat as number };
  } catch {
    // Not one of our cursors; reported below.
  }
  throw failure('INVALID_INPUT', 'list.badCursor', {}, { details: { cursor } });
}
