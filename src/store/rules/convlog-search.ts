import { escapeKeyPart } from '../../keys/escape.ts';
import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import type {
  ConvlogChatRef,
  ConvlogLinePage,
  ConvlogQuery,
  ConvlogRange,
  StoredConvlogLine,
} from '../port/convlog.ts';
import { type ChatNames, type ChatState, type LineRow, toLine } from './convlog-line.ts';
import {
  CHATS_PER_STEP,
  deadlineOf,
  formatCursor,
  holds,
  isBy,
  LINES_PER_STEP,
  MAX_CHATS,
  MAX_LINES,
  MAX_PAGE_CHARS,
  PAGE,
  type Place,
  parseCursor,
  START,
  sizeOf,
} from './convlog-page.ts';

/*
 * Finds pages of the channel log. The generators yield queries for a limited number of rows, and the store that
 * drives them answers: a storage thread between two steps, or PostgreSQL with a statement.
 */

export type ConvlogQuestion =
  | { readonly ask: 'chats'; readonly place: Place; readonly count: number }
  | { readonly ask: 'lines'; readonly chat: ChatState; readonly lines: LinesAsked };

/** Lines from this one on, in this direction. */
export interface LinesAsked {
  readonly from: number;
  readonly backward: boolean;
  readonly count: number;
}

/** Fewer rows than requested if more would be too many for one read. `isEnd`: no rows follow. */
export interface RowsFound<Row> {
  readonly rows: readonly Row[];
  readonly isEnd: boolean;
}

/** A chat, and whether it matches all conditions except the text. */
export interface ChatSeen extends ChatState {
  readonly hit: boolean;
}

export type ConvlogAnswer = RowsFound<ChatSeen> | RowsFound<LineRow>;
export type Asking<T> = Generator<ConvlogQuestion, T, ConvlogAnswer>;

function* askChats(place: Place, count: number): Asking<RowsFound<ChatSeen>> {
  return (yield { ask: 'chats', place, count }) as RowsFound<ChatSeen>;
}

function* askLines(chat: ChatState, lines: LinesAsked): Asking<RowsFound<LineRow>> {
  return (yield { ask: 'lines', chat, lines }) as RowsFound<LineRow>;
}

export interface ChatsFound {
  readonly chats: readonly ChatState[];
  readonly cursor: string | null;
  readonly complete: boolean;
  readonly total?: number;
}

export function* findChats(query: ConvlogQuery): Asking<ChatsFound> {
  const found = yield* findPage(query);
  if (query.withTotal !== true) return found;
  if (query.text !== undefined && query.text !== '')
    throw failure('INVALID_INPUT', 'request.exclusive', { fields: ['text', 'withTotal'] });
  return { ...found, total: yield* countChats(query) };
}

function placeOf({ last_at, messages, chat }: ChatState, sort: ConvlogQuery['sort']): Place {
  return { by: sort === 'messages' ? messages : last_at, chat };
}

/** Counts in steps, so that the store's other work can run in between. */
function* countChats({ sort = 'time' }: ConvlogQuery): Asking<number> {
  let total = 0;
  for (let place: Place = START; ; ) {
    const { rows, isEnd } = yield* askChats(place, CHATS_PER_STEP);
    total += rows.filter(({ hit }) => hit).length;
    const last = rows.at(-1);
    if (isEnd || last === undefined) return total;
    place = placeOf(last, sort);
  }
}

/** Pages in the order of an index. A chat with a new line moves to the front meanwhile; a new first page shows it. */
function* findPage(query: ConvlogQuery): Asking<ChatsFound> {
  const { limit = PAGE, text = '', sort = 'time', cursor } = query;
  if (sort !== 'time' && sort !== 'messages')
    throw failure('INVALID_INPUT', 'list.badSort', {
      sort: quotedValue(sort),
      allowed: ['time', 'messages'],
    });
  const size = sizeOf(limit, MAX_CHATS);
  const words = text.toLowerCase();
  const deadline = words === '' ? Number.POSITIVE_INFINITY : deadlineOf(query);
  let place = cursor === undefined ? START : parseCursor(cursor, sort);
  const chats: ChatState[] = [];
  const answer = (next: Place | null, complete = true): ChatsFound => ({
    chats,
    cursor: next === null ? null : formatCursor(next, sort),
    complete,
  });
  for (;;) {
    const { rows, isEnd } = yield* askChats(place, words === '' ? size + 1 : CHATS_PER_STEP);
    for (const row of rows) {
      if (row.hit) {
        const before = place.inside?.chat === row.chat ? place.inside.before : Number.MAX_SAFE_INTEGER;
        const held = words === '' || (yield* chatHolds(row, { words, before, deadline }));
        if (typeof held === 'number')
          return answer({ ...place, inside: { chat: row.chat, before: held } }, false);
        // One more chat than requested means that there is a next page.
        if (held && chats.length === size) return answer(place);
        if (held) chats.push(row);
      }
      place = placeOf(row, sort);
      if (performance.now() > deadline) return answer(place, false);
    }
    if (isEnd) return answer(null);
  }
}

/**
 * Searches a chat for the text, newest line first. @returns whether it was found, or the line to continue before
 * after the time limit.
 */
function* chatHolds(
  chat: ChatState,
  { words, before, deadline }: { readonly words: string; readonly before: number; readonly deadline: number },
): Asking<boolean | number> {
  for (let from = before; ; ) {
    const { rows, isEnd } = yield* askLines(chat, { from, backward: true, count: LINES_PER_STEP });
    if (rows.some(({ content }) => holds(content, words))) return true;
    if (isEnd) return false;
    from = (rows.at(-1)?.number ?? 1) - 1;
    if (performance.now() > deadline) return from;
  }
}

/** A validated range. */
export interface LineSearch {
  readonly from: number | undefined;
  readonly backward: boolean;
  readonly size: number;
  readonly words: string;
  readonly name: string | undefined;
  readonly deadline: number;
}

export function parseRange(range: ConvlogRange): LineSearch {
  const { from, limit = PAGE, direction = 'forward', text = '', member } = range;
  const size = sizeOf(limit, MAX_LINES);
  const isFiltered = text !== '' || member !== undefined;
  return {
    from,
    backward: direction === 'backward',
    size,
    words: text.toLowerCase(),
    name: member === undefined ? undefined : escapeKeyPart(member),
    deadline: isFiltered ? deadlineOf(range) : Number.POSITIVE_INFINITY,
  };
}

export function assertSpokenIn<Chat extends ChatState>(
  found: Chat | undefined,
  { agentId, channelType, channelId }: ConvlogChatRef,
): Chat {
  if (found !== undefined && found.messages > 0) return found;
  const details = { agentId, channelType, channelId };
  throw failure('NOT_FOUND', 'chat.missing', { agent: agentId, chat: channelId }, { details });
}

export function* readLines(
  chat: ChatState & ChatNames,
  { from: start, backward, size, words, name, deadline }: LineSearch,
): Asking<ConvlogLinePage> {
  const isFiltered = words !== '' || name !== undefined;
  const lines: StoredConvlogLine[] = [];
  let chars = 0;
  for (let from = start ?? (backward ? Number.MAX_SAFE_INTEGER : 1); ; ) {
    const count = isFiltered ? LINES_PER_STEP : Math.min(LINES_PER_STEP, size - lines.length + 1);
    const { rows, isEnd } = yield* askLines(chat, { from, backward, count });
    for (const row of rows) {
      if (name !== undefined && !isBy(row, name)) continue;
      if (words !== '' && !holds(row.content, words)) continue;
      if (lines.length === size || chars > MAX_PAGE_CHARS) return { lines, hasMore: true, next: row.number };
      chars += row.content.length;
      lines.push(toLine(chat, row));
    }
    if (isEnd) return { lines, hasMore: false, next: null };
    from = (rows.at(-1)?.number ?? from) + (backward ? -1 : 1);
    if (performance.now() > deadline) return { lines, hasMore: true, next: from };
  }
}
