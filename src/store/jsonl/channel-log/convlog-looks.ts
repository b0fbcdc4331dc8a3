import type { SQLInputValue } from 'node:sqlite';
import { escapeKeyPart } from '../../../keys/escape.ts';
import type {
  ConvlogChat,
  ConvlogChatRef,
  ConvlogLinePage,
  ConvlogPage,
  ConvlogQuery,
  ConvlogRange,
} from '../../port/convlog.ts';
import { type ChatNames, type ChatState, type LineRow, namesOf } from '../../rules/convlog-line.ts';
import { CHATS_PER_STEP, chatOf, MEMBER_ROWS, type MemberRow, type Place } from '../../rules/convlog-page.ts';
import {
  type Asking,
  assertSpokenIn,
  type ChatSeen,
  type ConvlogAnswer,
  type ConvlogQuestion,
  findChats,
  type LinesAsked,
  parseRange,
  type RowsFound,
  readLines,
} from '../../rules/convlog-search.ts';
import { LOOK_BYTES } from '../../shared/look-bytes.ts';
import type { Database } from '../../sqlite/database.ts';
import type { Steps } from '../../sqlite/threads/steps.ts';
import { findChat, OF_CHAT, valuesOf } from './convlog-rows.ts';

export function* listChats(db: Database, query: ConvlogQuery): Steps<ConvlogPage> {
  const { chats, ...rest } = yield* answering(db, findChats(query), query);
  return { chats: db.snapshot(() => chats.map((row) => toChat(db, row))), ...rest };
}

export function* readChat(
  db: Database,
  { chat, range }: { readonly chat: ConvlogChatRef; readonly range: ConvlogRange },
): Steps<ConvlogLinePage> {
  const search = parseRange(range);
  const found = assertSpokenIn(findChat(db, namesOf(chat)), chat);
  return yield* answering(db, readLines(found, search));
}

/** Answers each query of the generator in a separate step. */
function* answering<T>(db: Database, asking: Asking<T>, query: ConvlogQuery = {}): Steps<T> {
  for (let step = asking.next(); ; ) {
    if (step.done === true) return step.value;
    step = asking.next(answerTo(db, step.value, query));
    if (step.done !== true) yield;
  }
}

function answerTo(db: Database, question: ConvlogQuestion, query: ConvlogQuery): ConvlogAnswer {
  return question.ask === 'chats'
    ? chatsAfter(db, query, question)
    : linesFrom(db, question.chat, question.lines);
}

/** Conditions without an index are evaluated for each chat, so a step never takes longer than its `count`. */
function chatsAfter(
  db: Database,
  { agentId, channelType, member, sort = 'time' }: ConvlogQuery,
  { place, count }: { readonly place: Place; readonly count: number },
): RowsFound<ChatSeen> {
  const column = sort === 'time' ? 'last_at' : 'messages';
  const where: string[] = ['messages > 0'];
  const hit: string[] = ['1'];
  const values: SQLInputValue[] = [];
  const ask = (terms: string[], term: string, ...asked: string[]): void => {
    terms.push(term);
    values.push(...asked);
  };
  if (channelType !== undefined) ask(hit, 'channel_type = ? COLLATE NOCASE', escapeKeyPart(channelType));
  if (member !== undefined) {
    const name = escapeKeyPart(member);
    const of = 'SELECT 1 FROM convlog_members AS m WHERE m.chat = c.chat';
    ask(hit, `EXISTS (${of} AND (m.sender_id = ? OR m.sender_name = ? COLLATE NOCASE))`, name, name);
  }
  // Only the index by time includes the agent. By messages, the chats of one agent can be anywhere.
  if (agentId !== undefined && sort === 'messages') ask(hit, 'agent_id = ?', agentId);
  if (agentId !== undefined && sort === 'time') ask(where, 'agent_id = ?', agentId);
  if (place.chat !== 0) {
    where.push(`(${column}, chat) < (?, ?)`);
    values.push(place.by, place.chat);
  }
  const isNarrowed = hit.length > 1;
  const most = isNarrowed ? CHATS_PER_STEP : count;
  const rows = db.rows<ChatState & { readonly hit: number }>(
    `SELECT *, ${hit.join(' AND ')} AS hit FROM convlog_chats AS c WHERE ${where.join(' AND ')}
     ORDER BY ${column} DESC, chat DESC LIMIT ?`,
    ...values,
    most,
  );
  return { rows: rows.map((row) => ({ ...row, hit: row.hit === 1 })), isEnd: rows.length < most };
}

/** At most `count` lines, and no more bytes than one read should take, because a line can be long. */
function linesFrom(
  db: Database,
  names: ChatNames,
  { from, backward, count }: LinesAsked,
): RowsFound<LineRow> {
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

function toChat(db: Database, row: ChatState): ConvlogChat {
  const members = db.rows<MemberRow>(
    `SELECT sender_id, sender_name FROM convlog_members WHERE chat = ? ORDER BY last_number DESC LIMIT ${MEMBER_ROWS}`,
    row.chat,
  );
  return chatOf(row, members);
}
