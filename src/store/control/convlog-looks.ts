import type { SQLInputValue } from 'node:sqlite';
import { RepriseError } from '../../errors.ts';
import { escapeKeyPart } from '../../keys/escape.ts';
import { type ChatNames, type LineRow, namesOf, toLine } from '../common/convlog-line.ts';
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
import { LOOK_BYTES } from '../common/look-bytes.ts';
import type {
  ConvlogChat,
  ConvlogChatRef,
  ConvlogLinePage,
  ConvlogPage,
  ConvlogQuery,
  ConvlogRange,
  StoredConvlogLine,
} from '../convlog.ts';
import { type ChatRow, findChat, OF_CHAT, valuesOf } from './convlog-rows.ts';
import type { Database } from './database.ts';
import type { Steps } from './steps.ts';

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
  const members = db.rows<MemberRow>(
    `SELECT sender_id, sender_name FROM convlog_members WHERE chat = ? ORDER BY last_number DESC LIMIT ${MEMBER_ROWS}`,
    row.chat,
  );
  return chatOf(row, members);
}
