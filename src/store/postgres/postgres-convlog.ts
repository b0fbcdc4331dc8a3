import { escapeKeyPart } from '../../keys/escape.ts';
import type {
  Convlog,
  ConvlogChat,
  ConvlogChatRef,
  ConvlogLine,
  ConvlogLinePage,
  ConvlogPage,
  ConvlogQuery,
  ConvlogRange,
} from '../port/convlog.ts';
import { checkChat, checkLog } from '../rules/check-input.ts';
import { type ChatState, type LineRow, namesOf } from '../rules/convlog-line.ts';
import { CHATS_PER_STEP, chatOf, MEMBER_ROWS, type MemberRow, type Place } from '../rules/convlog-page.ts';
import {
  type Asking,
  assertSpokenIn,
  type ChatSeen,
  findChats,
  type LinesAsked,
  parseRange,
  type RowsFound,
  readLines,
} from '../rules/convlog-search.ts';
import type { Sql } from './connection/connections.ts';
import { type StoreContext, transaction } from './connection/transaction.ts';
import { boundedLines } from './long-lines.ts';
import { CHAT_COLUMNS, findChat, writeLog } from './write/convlog-rows.ts';

/** The channel log on PostgreSQL. Each statement reads a limited number of chats or lines. */
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

async function listChats(sql: Sql, query: ConvlogQuery): Promise<ConvlogPage> {
  const { chats, ...rest } = await answered(sql, findChats(query), query);
  return { chats: await withMembers(sql, chats), ...rest };
}

async function readChat(sql: Sql, chat: ConvlogChatRef, range: ConvlogRange): Promise<ConvlogLinePage> {
  const search = parseRange(range);
  const found = assertSpokenIn(await findChat(sql, namesOf(chat)), chat);
  return answered(sql, readLines(found, search));
}

/** Answers each query of the generator with a separate statement. */
async function answered<T>(sql: Sql, asking: Asking<T>, query: ConvlogQuery = {}): Promise<T> {
  for (let step = asking.next(); ; ) {
    if (step.done === true) return step.value;
    const { value: question } = step;
    const rows =
      question.ask === 'chats'
        ? await chatsAfter(sql, query, question)
        : await linesFrom(sql, question.chat.chat, question.lines);
    step = asking.next(rows);
  }
}

/** Conditions without an index are evaluated for each chat, so a statement never reads more than its `count`. */
async function chatsAfter(
  sql: Sql,
  { agentId, channelType, member, sort = 'time' }: ConvlogQuery,
  { place, count }: { readonly place: Place; readonly count: number },
): Promise<RowsFound<ChatSeen>> {
  const column = sort === 'time' ? 'last_at' : 'messages';
  const values: unknown[] = [];
  const value = (asked: unknown): string => `$${values.push(asked)}`;
  const where: string[] = ['messages > 0'];
  const hit: string[] = ['true'];
  // Ignores the case of ASCII letters only, as the other stores do; more would depend on the database's locale.
  if (channelType !== undefined)
    hit.push(`lower(channel_type) = lower(${value(escapeKeyPart(channelType))} COLLATE "C")`);
  if (member !== undefined) {
    const name = value(escapeKeyPart(member));
    hit.push(`EXISTS (SELECT 1 FROM reprise.convlog_members AS m WHERE m.chat = c.chat
      AND (m.sender_id = ${name} OR lower(m.sender_name) = lower(${name} COLLATE "C")))`);
  }
  // Only the index by time includes the agent. By messages, the chats of one agent can be anywhere.
  if (agentId !== undefined) (sort === 'time' ? where : hit).push(`agent_id = ${value(agentId)}`);
  if (place.chat !== 0) where.push(`(${column}, chat) < (${value(place.by)}, ${value(place.chat)})`);
  const most = hit.length > 1 ? CHATS_PER_STEP : count;
  const rows = await sql.query<ChatSeen>(
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

/** At most `count` lines, and no more bytes than one read should take, because a line can be long. */
async function linesFrom(
  sql: Sql,
  chat: number,
  { from, backward, count }: LinesAsked,
): Promise<RowsFound<LineRow>> {
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
