import { RepriseError } from '../../errors.ts';
import { escapeKeyPart } from '../../keys/escape.ts';
import { checkChat, checkLog } from '../common/check-input.ts';
import { type ChatState, type LineRow, namesOf, toLine } from '../common/convlog-line.ts';
import {
  CHATS_PER_STEP,
  chatOf,
  deadlineOf,
  formatCursor,
  holds,
  isBy,
  LINES_PER_STEP,
  MAX_CHATS,
  MAX_LINES,
  MAX_PAGE_CHARS,
  MEMBER_ROWS,
  type MemberRow,
  PAGE,
  type Place,
  parseCursor,
  START,
  sizeOf,
} from '../common/convlog-page.ts';
import type {
  Convlog,
  ConvlogChat,
  ConvlogChatRef,
  ConvlogLine,
  ConvlogLinePage,
  ConvlogPage,
  ConvlogQuery,
  ConvlogRange,
  StoredConvlogLine,
} from '../convlog.ts';
import type { Sql } from './connections.ts';
import { CHAT_COLUMNS, findChat, writeLog } from './convlog-rows.ts';
import { boundedLines } from './long-lines.ts';
import { type StoreContext, transaction } from './transaction.ts';

/** The convlog on PostgreSQL. Whatever is looked for, a statement reads a bounded number of chats or lines. */
export class PostgresConvlog implements Convlog {
  readonly #context: StoreContext;

  constructor(context: StoreContext) {
    this.#context = context;
  }

  async append(lines: readonly ConvlogLine[]): Promise<void> {
    const checked = checkLog(lines);
    await transaction(this.#context, (tx) => writeLog(tx, checked));
  }

  async list(query: ConvlogQuery = {}): Promise<ConvlogPage> {
    return listChats(this.#context.connections, query);
  }

  async read(chat: ConvlogChatRef, range: ConvlogRange = {}): Promise<ConvlogLinePage> {
    return readChat(this.#context.connections, checkChat(chat), range);
  }
}

/** In the order of an index. A chat that is spoken in meanwhile moves to the front, where the next first page shows it. */
async function listChats(sql: Sql, query: ConvlogQuery): Promise<ConvlogPage> {
  const { limit = PAGE, text = '', sort = 'time', cursor } = query;
  if (sort !== 'time' && sort !== 'messages')
    throw new RepriseError('INVALID_INPUT', 'chats are sorted by time or messages');
  const size = sizeOf(limit, MAX_CHATS);
  const words = text.toLowerCase();
  const deadline = words === '' ? Number.POSITIVE_INFINITY : deadlineOf(query);
  let place = cursor === undefined ? START : parseCursor(cursor, sort);
  const found: ChatState[] = [];
  const answer = async (next: Place | null, complete = true): Promise<ConvlogPage> => ({
    chats: await withMembers(sql, found),
    cursor: next === null ? null : formatCursor(next, sort),
    complete,
  });
  for (;;) {
    const { rows, isEnd } = await chatsAfter(sql, query, place, words === '' ? size + 1 : CHATS_PER_STEP);
    for (const row of rows) {
      if (row.hit) {
        const before = place.inside?.chat === row.chat ? place.inside.before : Number.MAX_SAFE_INTEGER;
        const held = words === '' || (await chatHolds(sql, row.chat, { words, before, deadline }));
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
  }
}

interface ChatHit extends ChatState {
  readonly hit: boolean;
}

/** What no index finds is asked of each chat on the way, so that a statement is never longer than its count. */
async function chatsAfter(
  sql: Sql,
  { agentId, channelType, member, sort = 'time' }: ConvlogQuery,
  place: Place,
  count: number,
): Promise<{ readonly rows: ChatHit[]; readonly isEnd: boolean }> {
  const column = sort === 'time' ? 'last_at' : 'messages';
  const values: unknown[] = [];
  const value = (asked: unknown): string => `$${values.push(asked)}`;
  const where: string[] = ['messages > 0'];
  const hit: string[] = ['true'];
  if (channelType !== undefined) hit.push(`channel_type = ${value(escapeKeyPart(channelType))}`);
  if (member !== undefined) {
    const name = value(escapeKeyPart(member));
    // Case of ASCII, as in the other stores: what else would depend on the locale of the database.
    hit.push(`EXISTS (SELECT 1 FROM reprise.convlog_members AS m WHERE m.chat = c.chat
      AND (m.sender_id = ${name} OR lower(m.sender_name) = lower(${name} COLLATE "C")))`);
  }
  // In the index of the time only: by messages one agent may be anywhere.
  if (agentId !== undefined) (sort === 'time' ? where : hit).push(`agent_id = ${value(agentId)}`);
  if (place.chat !== 0) where.push(`(${column}, chat) < (${value(place.by)}, ${value(place.chat)})`);
  const most = hit.length > 1 ? CHATS_PER_STEP : count;
  const rows = await sql.query<ChatHit>(
    `SELECT ${CHAT_COLUMNS}, ${hit.join(' AND ')} AS hit FROM reprise.convlog_chats AS c
     WHERE ${where.join(' AND ')} ORDER BY ${column} DESC, chat DESC LIMIT ${value(most)}`,
    values,
  );
  return { rows, isEnd: rows.length < most };
}

async function withMembers(sql: Sql, chats: readonly ChatState[]): Promise<ConvlogChat[]> {
  if (chats.length === 0) return [];
  const rows = await sql.query<MemberRow & { readonly chat: number }>(
    `SELECT m.chat, m.sender_id, m.sender_name FROM unnest($1::bigint[]) AS asked (chat),
       LATERAL (SELECT chat, sender_id, sender_name, last_number FROM reprise.convlog_members AS all_members
         WHERE all_members.chat = asked.chat ORDER BY last_number DESC LIMIT ${MEMBER_ROWS}) AS m
     ORDER BY m.chat, m.last_number DESC`,
    [chats.map(({ chat }) => chat)],
  );
  const members = Map.groupBy(rows, ({ chat }) => chat);
  return chats.map((row) => chatOf(row, members.get(row.chat) ?? []));
}

/** Whether a line of the chat holds the words, the newest first; or before which line to go on when the time is over. */
async function chatHolds(
  sql: Sql,
  chat: number,
  { words, before, deadline }: { readonly words: string; readonly before: number; readonly deadline: number },
): Promise<boolean | number> {
  for (let from = before; ; ) {
    const { rows, isEnd } = await linesFrom(sql, chat, { from, backward: true, count: LINES_PER_STEP });
    if (rows.some(({ content }) => holds(content, words))) return true;
    if (isEnd) return false;
    from = (rows.at(-1)?.number ?? 1) - 1;
    if (performance.now() > deadline) return from;
  }
}

async function readChat(sql: Sql, chat: ConvlogChatRef, range: ConvlogRange): Promise<ConvlogLinePage> {
  const { limit = PAGE, direction = 'forward', text = '', member } = range;
  const backward = direction === 'backward';
  const size = sizeOf(limit, MAX_LINES);
  const words = text.toLowerCase();
  const name = member === undefined ? undefined : escapeKeyPart(member);
  const isFiltered = words !== '' || name !== undefined;
  const deadline = isFiltered ? deadlineOf(range) : Number.POSITIVE_INFINITY;
  const names = namesOf(chat);
  const found = await findChat(sql, names);
  if (found === undefined || found.messages === 0)
    throw new RepriseError('NOT_FOUND', 'nothing was said in such a chat', { details: { ...chat } });
  const lines: StoredConvlogLine[] = [];
  let chars = 0;
  for (let from = range.from ?? (backward ? Number.MAX_SAFE_INTEGER : 1); ; ) {
    const count = isFiltered ? LINES_PER_STEP : Math.min(LINES_PER_STEP, size - lines.length + 1);
    const { rows, isEnd } = await linesFrom(sql, found.chat, { from, backward, count });
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
  }
}

/** At most so many, and no more than one look should read: a line may be long. */
async function linesFrom(
  sql: Sql,
  chat: number,
  { from, backward, count }: { readonly from: number; readonly backward: boolean; readonly count: number },
): Promise<{ readonly rows: LineRow[]; readonly isEnd: boolean }> {
  const [side, order] = backward ? ['<=', 'DESC'] : ['>=', 'ASC'];
  const rows = await sql.query<LineRow & { readonly is_last: boolean }>(
    boundedLines({
      columns: 'number, ts, role, content, sender_id, sender_name, session_id, message_id',
      from: `reprise.convlog_lines WHERE chat = $1 AND number ${side} $2`,
      order: `number ${order}`,
      text: 'content',
      limit: '$3',
    }),
    [chat, from, count],
  );
  return { rows, isEnd: rows.at(-1)?.is_last ?? true };
}
