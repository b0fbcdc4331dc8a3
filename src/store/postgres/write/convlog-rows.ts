import { createHash } from 'node:crypto';
import type { ConvlogLine, StoredConvlogLine } from '../../port/convlog.ts';
import {
  addToChat,
  type ChatNames,
  type ChatState,
  type LineRow,
  namesOf,
  toRow,
} from '../../rules/convlog-line.ts';
import type { Sql } from '../connection/connections.ts';
import type { Tx } from '../connection/tx.ts';

export const CHAT_COLUMNS =
  'chat, agent_id, channel_type, channel_id, messages, last_number, first_at, last_at, last_text';

/**
 * Both statements use the order of the hashes, so that transactions with several chats lock them in the same order.
 */
const MAKE = `INSERT INTO reprise.convlog_chats (name_hash, agent_id, channel_type, channel_id)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS n (name_hash) ORDER BY name_hash
  ON CONFLICT DO NOTHING`;
const LOCK = `SELECT name_hash, ${CHAT_COLUMNS} FROM reprise.convlog_chats WHERE name_hash = ANY($1)
  ORDER BY name_hash FOR UPDATE`;

const INSERT = `INSERT INTO reprise.convlog_lines
    (chat, number, ts, role, content, sender_id, sender_name, session_id, message_id)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::text[])`;

const SAVE = `UPDATE reprise.convlog_chats AS c SET messages = s.messages, last_number = s.last_number,
    first_at = s.first_at, last_at = s.last_at, last_text = s.last_text
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[])
    AS s (chat, messages, last_number, first_at, last_at, last_text)
  WHERE c.chat = s.chat`;

const MEMBERS = `INSERT INTO reprise.convlog_members (chat, name_hash, sender_id, sender_name, last_number)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
  ON CONFLICT (chat, name_hash) DO UPDATE SET last_number = excluded.last_number`;

/** Names may be longer than an index allows; their hash identifies them. */
function nameHash(...names: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(names)).digest('base64url');
}

const hashOf = ({ agent_id, channel_type, channel_id }: ChatNames): string =>
  nameHash(agent_id, channel_type, channel_id);

export async function findChat(sql: Sql, names: ChatNames): Promise<ChatState | undefined> {
  const [row] = await sql.query<ChatState>(
    `SELECT ${CHAT_COLUMNS} FROM reprise.convlog_chats WHERE name_hash = $1`,
    [hashOf(names)],
  );
  return row;
}

/** Writes log lines in the transaction of the message or append, so that both are stored or neither. */
export async function writeLog(
  tx: Tx,
  lines: readonly (ConvlogLine & Partial<Pick<StoredConvlogLine, 'number'>>)[],
): Promise<void> {
  if (lines.length === 0) return;
  const chats = await lockChats(tx, lines.map(namesOf));
  const rows: (LineRow & { readonly chat: number })[] = [];
  const members = new Map<string, (typeof rows)[number]>();
  for (const line of lines) {
    const chat = chats.get(hashOf(namesOf(line)));
    if (chat === undefined) continue;
    const { number = chat.last_number + 1 } = line;
    // A copied line that the table already has.
    if (number <= chat.last_number) continue;
    const row = { chat: chat.chat, ...toRow(line, number, line.ts ?? tx.now()) };
    addToChat(chat, row);
    rows.push(row);
    if (row.sender_id !== null)
      members.set(`${chat.chat} ${nameHash(row.sender_id, row.sender_name ?? '')}`, row);
  }
  tx.run(INSERT, columns(rows, LINE_COLUMNS));
  tx.run(SAVE, columns([...chats.values()], SAVED));
  const spoke = [...members.values()];
  if (spoke.length === 0) return;
  tx.run(MEMBERS, [
    spoke.map(({ chat }) => chat),
    spoke.map(({ sender_id, sender_name }) => nameHash(sender_id ?? '', sender_name ?? '')),
    spoke.map(({ sender_id }) => sender_id),
    spoke.map(({ sender_name }) => sender_name ?? ''),
    spoke.map(({ number }) => number),
  ]);
}

/** Removes a session's lines and updates chats and members. Numbers are never reused. */
export async function eraseLog(tx: Tx, sessionId: string): Promise<void> {
  const rows = await tx.query<ChatNames>(
    `SELECT agent_id, channel_type, channel_id FROM reprise.convlog_chats WHERE chat IN
       (SELECT chat FROM reprise.convlog_lines WHERE session_id = $1)`,
    [sessionId],
  );
  if (rows.length === 0) return;
  const chats = [...(await lockChats(tx, rows)).values()];
  tx.run('DELETE FROM reprise.convlog_lines WHERE session_id = $1', [sessionId]);
  for (const chat of chats) await recount(tx, chat);
}

async function recount(tx: Tx, chat: ChatState): Promise<void> {
  const fresh: ChatState = { ...chat, messages: 0, first_at: '', last_at: '', last_text: '' };
  const [count] = await tx.query<{ messages: number; first_at: string | null }>(
    'SELECT count(*) AS messages, min(ts) AS first_at FROM reprise.convlog_lines WHERE chat = $1',
    [chat.chat],
  );
  const [last] = await tx.query<Pick<LineRow, 'number' | 'ts' | 'content'>>(
    'SELECT number, ts, content FROM reprise.convlog_lines WHERE chat = $1 ORDER BY ts DESC, number DESC LIMIT 1',
    [chat.chat],
  );
  tx.run(
    `DELETE FROM reprise.convlog_members AS m WHERE m.chat = $1 AND NOT EXISTS (SELECT 1 FROM reprise.convlog_lines AS l
       WHERE l.chat = $1 AND l.sender_id = m.sender_id AND coalesce(l.sender_name, '') = m.sender_name)`,
    [chat.chat],
  );
  if (count === undefined || last === undefined) {
    tx.run('DELETE FROM reprise.convlog_chats WHERE chat = $1', [chat.chat]);
    return;
  }
  addToChat(fresh, last);
  const { last_number } = chat;
  const first_at = count.first_at ?? '';
  const saved = { ...fresh, messages: Number(count.messages), first_at, last_number };
  tx.run(SAVE, columns([saved], SAVED));
}

/** Locks chats in the order of their hashes until the transaction ends; line numbers are assigned under that lock. */
async function lockChats(tx: Tx, names: readonly ChatNames[]): Promise<Map<string, ChatState>> {
  const distinct = new Map(names.map((chat) => [hashOf(chat), chat]));
  const chats = [...distinct.values()];
  const hashes = [...distinct.keys()];
  tx.run(MAKE, [
    hashes,
    chats.map(({ agent_id }) => agent_id),
    chats.map(({ channel_type }) => channel_type),
    chats.map(({ channel_id }) => channel_id),
  ]);
  const rows = await tx.query<ChatState & { name_hash: string }>(LOCK, [hashes]);
  return new Map(rows.map(({ name_hash, ...row }) => [name_hash, row]));
}

const LINE_COLUMNS = [
  'chat',
  'number',
  'ts',
  'role',
  'content',
  'sender_id',
  'sender_name',
  'session_id',
  'message_id',
] as const;
const SAVED = ['chat', 'messages', 'last_number', 'first_at', 'last_at', 'last_text'] as const;

function columns<Name extends string>(
  rows: readonly Readonly<Record<Name, unknown>>[],
  names: readonly Name[],
): unknown[][] {
  return names.map((name) => rows.map((row) => row[name]));
}
