import type { SQLInputValue } from 'node:sqlite';
import { RepriseError } from '../../errors.ts';
import { escapeKeyPart, unescapeKeyPart } from '../../keys/escape.ts';
import {
  CONVLOG_MEMBERS,
  type ConvlogChat,
  type ConvlogChatRef,
  type ConvlogLinePage,
  type ConvlogPage,
  type ConvlogQuery,
  type ConvlogRange,
  type ConvlogSender,
  type StoredConvlogLine,
} from '../convlog.ts';
import {
  type ChatNames,
  type ChatRow,
  findChat,
  type LineRow,
  namesOf,
  OF_CHAT,
  senderOf,
  toLine,
  valuesOf,
} from './convlog-rows.ts';
import type { Database } from './database.ts';
import { LOOK_BYTES } from './line-source.ts';
import type { Steps } from './steps.ts';

const PAGE = 50;
const MAX_CHATS = 200;
const MAX_LINES = 1000;
const CHATS_PER_STEP = 500;
const LINES_PER_STEP = 500;
/** As long as a person would wait. */
const BUDGET_MS = 1000;
/** Of a page: what one message between threads may hold. */
const MAX_PAGE_CHARS = 4 * LOOK_BYTES;
const MEMBER_ROWS = 4 * CONVLOG_MEMBERS;

/** Where a list goes on: behind a chat in its order and, where the time was over inside the next one, before a line of it. */
interface Place {
  readonly by: string | number;
  readonly chat: number;
  readonly inside?: { readonly chat: number; readonly before: number };
}

const START: Place = { by: '', chat: 0 };

/**
 * In the order of an index, a bounded number of chats in each step, whatever is looked for. A chat that is spoken in
 * meanwhile moves to the front, where the next first page shows it.
 */
export function* listChats(db: Database, query: ConvlogQuery): Steps<ConvlogPage> {
  const { limit = PAGE, text = '', sort = 'time', cursor } = query;
  if (sort !== 'time' && sort !== 'messages')
    throw new RepriseError('INVALID_INPUT', 'chats are sorted by time or messages');
  const size = sizeOf(limit, MAX_CHATS);
  const words = text.toLowerCase();
  const deadline = words === '' ? Number.POSITIVE_INFINITY : deadlineOf(query);
  let place = cursor === undefined ? START : parseCursor(cursor, sort);
  const found: ChatRow[] = [];
  const answer = (next: Place | null, complete = true): ConvlogPage => ({
    chats: db.snapshot(() => found.map((row) => toChat(db, row))),
    cursor: next === null ? null : formatCursor(next, sort),
    complete,
  });
  for (;;) {
    const { rows, isEnd } = chatsAfter(db, query, { place, count: words === '' ? size + 1 : CHATS_PER_STEP });
    for (const row of rows) {
      if (row.hit === 1) {
        const before = place.inside?.chat === row.chat ? place.inside.before : Number.MAX_SAFE_INTEGER;
        const held = words === '' || (yield* chatHolds(db, row, { words, before, deadline }));
        if (typeof held === 'number')
          return answer({ ...place, inside: { chat: row.chat, before: held } }, false);
        // One more than asked for says that there is a next page.
        if (held && found.length === size) return answer(place);
        if (held) found.push(row);
      }
      place = { by: sort === 'time' ? row.last_at : row.messages, chat: row.chat };
      if (performance.now() > deadline) return answer(place, false);
    }
    if (isEnd) return answer(null);
    yield;
  }
}

interface ChatHit extends ChatRow {
  readonly hit: number;
}

/** What no index finds is asked of each chat on the way, so that a step is never longer than its count. */
function chatsAfter(
  db: Database,
  { agentId, channelType, member, sort = 'time' }: ConvlogQuery,
  { place, count }: { readonly place: Place; readonly count: number },
): { readonly rows: ChatHit[]; readonly isEnd: boolean } {
  const column = sort === 'time' ? 'last_at' : 'messages';
  const where: string[] = ['messages > 0'];
  const hit: string[] = ['1'];
  const values: SQLInputValue[] = [];
  const ask = (terms: string[], term: string, ...asked: string[]): void => {
    terms.push(term);
    values.push(...asked);
  };
  if (channelType !== undefined) ask(hit, 'channel_type = ?', escapeKeyPart(channelType));
  if (member !== undefined) {
    const name = escapeKeyPart(member);
    const of = 'SELECT 1 FROM convlog_members AS m WHERE m.chat = c.chat';
    ask(hit, `EXISTS (${of} AND (m.sender_id = ? OR m.sender_name = ? COLLATE NOCASE))`, name, name);
  }
  // In the index of the time only: by messages one agent may be anywhere.
  if (agentId !== undefined && sort === 'messages') ask(hit, 'agent_id = ?', agentId);
  if (agentId !== undefined && sort === 'time') ask(where, 'agent_id = ?', agentId);
  if (place.chat !== 0) {
    where.push(`(${column}, chat) < (?, ?)`);
    values.push(place.by, place.chat);
  }
  const isNarrowed = hit.length > 1;
  const most = isNarrowed ? CHATS_PER_STEP : count;
  const rows = db.rows<ChatHit>(
    `SELECT *, ${hit.join(' AND ')} AS hit FROM convlog_chats AS c WHERE ${where.join(' AND ')}
     ORDER BY ${column} DESC, chat DESC LIMIT ?`,
    ...values,
    most,
  );
  return { rows, isEnd: rows.length < most };
}

/** Whether a line of the chat holds the words, the newest first; or before which line to go on when the time is over. */
function* chatHolds(
  db: Database,
  names: ChatNames,
  { words, before, deadline }: { readonly words: string; readonly before: number; readonly deadline: number },
): Steps<boolean | number> {
  for (let from = before; ; ) {
    const { rows, isEnd } = linesFrom(db, names, { from, backward: true, count: LINES_PER_STEP });
    if (rows.some(({ content }) => holds(content, words))) return true;
    if (isEnd) return false;
    from = (rows.at(-1)?.number ?? 1) - 1;
    if (performance.now() > deadline) return from;
    yield;
  }
}

const holds = (content: string, words: string): boolean =>
  (JSON.parse(content) as string).toLowerCase().includes(words);

export function* readChat(
  db: Database,
  { chat, range }: { readonly chat: ConvlogChatRef; readonly range: ConvlogRange },
): Steps<ConvlogLinePage> {
  const { limit = PAGE, direction = 'forward', text = '', member } = range;
  const backward = direction === 'backward';
  const size = sizeOf(limit, MAX_LINES);
  const words = text.toLowerCase();
  const name = member === undefined ? undefined : escapeKeyPart(member);
  const isFiltered = words !== '' || name !== undefined;
  const deadline = isFiltered ? deadlineOf(range) : Number.POSITIVE_INFINITY;
  const names = namesOf(chat);
  if ((findChat(db, names)?.messages ?? 0) === 0)
    throw new RepriseError('NOT_FOUND', 'nothing was said in such a chat', { details: { ...chat } });
  const lines: StoredConvlogLine[] = [];
  let chars = 0;
  for (let from = range.from ?? (backward ? Number.MAX_SAFE_INTEGER : 1); ; ) {
    const count = isFiltered ? LINES_PER_STEP : Math.min(LINES_PER_STEP, size - lines.length + 1);
    const { rows, isEnd } = linesFrom(db, names, { from, backward, count });
    for (const row of rows) {
      if (name !== undefined && !isBy(row, name)) continue;
      if (words !== '' && !holds(row.content, words)) continue;
      if (lines.length === size || chars > MAX_PAGE_CHARS) return { lines, hasMore: true, next: row.number };
      chars += row.content.length;
      lines.push(toLine(names, row));
    }
    if (isEnd) return { lines, hasMore: false, next: null };
    from = (rows.at(-1)?.number ?? from) + (backward ? -1 : 1);
    if (performance.now() > deadline) return { lines, hasMore: true, next: from };
    yield;
  }
}

const isBy = ({ sender_id, sender_name }: LineRow, member: string): boolean =>
  sender_id === member || sender_name?.toLowerCase() === member.toLowerCase();

/** At most so many, and no more than one look should read: a line may be long. */
function linesFrom(
  db: Database,
  names: ChatNames,
  { from, backward, count }: { readonly from: number; readonly backward: boolean; readonly count: number },
): { readonly rows: LineRow[]; readonly isEnd: boolean } {
  const [side, order] = backward ? ['<=', 'DESC'] : ['>=', 'ASC'];
  const found = db
    .sql(
      `SELECT * FROM convlog_lines WHERE ${OF_CHAT} AND number > 0 AND number ${side} ? ORDER BY number ${order}`,
    )
    .iterate(...valuesOf(names), from);
  const rows: LineRow[] = [];
  let chars = 0;
  for (const row of found as IterableIterator<unknown> as IterableIterator<LineRow>) {
    rows.push(row);
    chars += row.content.length;
    if (rows.length === count || chars > LOOK_BYTES) return { rows, isEnd: false };
  }
  return { rows, isEnd: true };
}

function toChat(db: Database, row: ChatRow): ConvlogChat {
  return {
    agentId: row.agent_id,
    channelType: unescapeKeyPart(row.channel_type),
    channelId: unescapeKeyPart(row.channel_id),
    messages: row.messages,
    firstAt: row.first_at,
    lastAt: row.last_at,
    lastText: unescapeKeyPart(row.last_text),
    members: membersOf(db, row.chat),
  };
}

/** Each under the name used last. */
function membersOf(db: Database, chat: number): ConvlogSender[] {
  const members = new Map<string, ConvlogSender>();
  const rows = db.rows<{ sender_id: string; sender_name: string }>(
    `SELECT sender_id, sender_name FROM convlog_members WHERE chat = ? ORDER BY last_number DESC LIMIT ${MEMBER_ROWS}`,
    chat,
  );
  for (const { sender_id, sender_name } of rows) {
    const sender = senderOf(sender_id, sender_name === '' ? null : sender_name);
    if (sender !== undefined && !members.has(sender_id)) members.set(sender_id, sender);
  }
  return [...members.values()].slice(0, CONVLOG_MEMBERS);
}

function sizeOf(limit: number, most: number): number {
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new RepriseError('INVALID_INPUT', `a page has at least one line, not ${limit}`);
  return Math.min(limit, most);
}

function deadlineOf({ budgetMs = BUDGET_MS }: { readonly budgetMs?: number }): number {
  if (!(budgetMs >= 0))
    throw new RepriseError('INVALID_INPUT', `a budget is a number of milliseconds, not ${budgetMs}`);
  return performance.now() + budgetMs;
}

function formatCursor({ by, chat, inside }: Place, sort: string): string {
  const place = [sort, by, chat, ...(inside === undefined ? [] : [inside.chat, inside.before])];
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

function parseCursor(cursor: string, sort: string): Place {
  try {
    const place = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    const [order, by, chat, inside, before] = place;
    const isPlace = order === sort && Number.isSafeInteger(chat);
    const isBy = chat === 0 || typeof by === (sort === 'time' ? 'string' : 'number');
    if (isPlace && isBy && typeof inside === 'number' && typeof before === 'number')
      return { by: by as string, chat: chat as number, inside: { chat: inside, before } };
    if (isPlace && isBy && place.length === 3) return { by: by as string, chat: chat as number };
  } catch {
    // Not one of ours; said below.
  }
  throw new RepriseError('INVALID_INPUT', 'not a cursor of this list', { details: { cursor } });
}
