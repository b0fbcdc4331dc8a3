import { setTimeout as delay } from 'node:timers/promises';
import { unescapeKeyPart } from '../../../keys/escape.ts';
import { failure } from '../../../messages/failure.ts';
import { decodeLine } from '../../../transcript/line.ts';
import {
  type OpenSession,
  type Place,
  parseCursor,
  RecordPage,
  type SessionPlace,
} from '../../copy/transfer-place.ts';
import type { TransferPage } from '../../port/transfer.ts';
import { type ChatState, type LineRow, toLine } from '../../rules/convlog-line.ts';
import { type InboxRow, toItem } from '../../rules/inbox-item.ts';
import { sha256 } from '../../shared/sha256.ts';
import type { Sql } from '../connection/connections.ts';
import { boundedLines, SOME_LINES } from '../long-lines.ts';
import { findSession, SESSION_COLUMNS, type SessionRow } from '../rows.ts';
import { CHAT_COLUMNS } from '../write/convlog-rows.ts';
import { toldEpoch } from './copies.ts';

const ROWS_PER_LOOK = 200;
const BLOBS_PER_LOOK = 50;

const ITEMS = boundedLines({
  columns:
    'number, id, session_id, session_key, state, class, group_name, body, detail, carries, attempts, created_at',
  from: 'reprise.inbox WHERE number > $1 AND number <= $2',
  order: 'number',
  text: 'body',
  limit: String(ROWS_PER_LOOK),
});
const LOGGED = boundedLines({
  columns: 'number, ts, role, content, sender_id, sender_name, session_id, message_id',
  from: 'reprise.convlog_lines WHERE chat = $1 AND number > $2',
  order: 'number',
  text: 'content',
  limit: String(ROWS_PER_LOOK),
});

/**
 * Reads the records of a database after a cursor. Unlike in other stores, the idempotency keys come before the
 * messages: numbers are assigned before a commit makes the row visible, so only records read later are sure to
 * include everything that earlier ones reference.
 */
export async function readTransfer(sql: Sql, cursor: string | undefined): Promise<TransferPage> {
  const page = new RecordPage();
  let place: Place | null = cursor === undefined ? { at: 'start' } : parseCursor(cursor);
  while (place !== null && !page.isFull) place = await takeStep(sql, place, page);
  return { records: page.records, cursor: place === null ? null : JSON.stringify(place) };
}

async function takeStep(sql: Sql, place: Place, page: RecordPage): Promise<Place | null> {
  switch (place.at) {
    case 'start':
      page.add({ kind: 'epoch', epoch: await toldEpoch(sql) });
      return { at: 'inbound', after: ['', '', ''], to: await lastItem(sql) };
    case 'inbound':
      return readInbound(sql, place, page);
    case 'items':
      return readItems(sql, place, page);
    case 'keys':
      return readKeys(sql, place, page);
    case 'sessions':
      return (await readSession(sql, place, page)) ?? { at: 'convlog', chat: 0, after: 0 };
    case 'convlog':
      return readConvlog(sql, place, page);
    case 'purged':
      return readPurged(sql, place, page);
  }
}

/**
 * The transactions that are writing to the inbox now. Any transaction that took a number without committing is among
 * them.
 */
const WRITING = `SELECT virtualtransaction AS tx FROM pg_locks
  WHERE locktype = 'relation' AND relation = 'reprise.inbox'::regclass AND mode = 'RowExclusiveLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
const LOOK_MS = 5;
/** Longer than any of our transactions. */
const MAX_WAIT_MS = 120_000;

/**
 * The last message to copy. Numbers are assigned before a commit makes the row visible, so this waits for
 * transactions that may have taken a lower number. Otherwise such a row could appear after its key was skipped, and
 * the copy would accept a sender's retry a second time (I-73).
 */
async function lastItem(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ n: number | null }>('SELECT max(number) AS n FROM reprise.inbox');
  let writing = (await sql.query<{ tx: string }>(WRITING)).map(({ tx }) => tx);
  for (const end = performance.now() + MAX_WAIT_MS; writing.length > 0; ) {
    if (performance.now() > end)
      throw failure('STORE_BUSY', 'copy.openTransaction', { seconds: MAX_WAIT_MS / 1000 });
    await delay(LOOK_MS);
    const still = new Set((await sql.query<{ tx: string }>(WRITING)).map(({ tx }) => tx));
    writing = writing.filter((tx) => still.has(tx));
  }
  return row?.n ?? 0;
}

interface InboundRow {
  readonly agent_id: string;
  readonly source: string;
  readonly key: string;
  readonly hash: string;
  readonly inbox_id: string;
}

async function readInbound(
  sql: Sql,
  { after, to }: Extract<Place, { at: 'inbound' }>,
  page: RecordPage,
): Promise<Place> {
  const rows = await sql.query<InboundRow>(
    `SELECT k.agent_id, k.source, k.key, k.hash, k.inbox_id FROM reprise.inbound_keys AS k
     JOIN reprise.inbox AS i ON i.id = k.inbox_id AND i.number <= $4
     WHERE (k.agent_id, k.source, k.key) > ($1, $2, $3)
     ORDER BY k.agent_id, k.source, k.key LIMIT ${ROWS_PER_LOOK}`,
    [...after, to],
  );
  for (const { agent_id, source, key, hash, inbox_id } of rows)
    page.add(
      { kind: 'inbound', agentId: agent_id, source, key, hash, inboxId: unescapeKeyPart(inbox_id) },
      source.length + key.length,
    );
  const last = rows.at(-1);
  if (last === undefined || rows.length < ROWS_PER_LOOK) return { at: 'items', after: 0, to };
  return { at: 'inbound', after: [last.agent_id, last.source, last.key], to };
}

async function readItems(
  sql: Sql,
  { after, to }: Extract<Place, { at: 'items' }>,
  page: RecordPage,
): Promise<Place> {
  const rows = await sql.query<InboxRow & { number: number; is_last: boolean }>(ITEMS, [after, to]);
  for (const row of rows) {
    const group = row.group_name === null ? null : unescapeKeyPart(row.group_name);
    const item = toItem({ ...row, id: unescapeKeyPart(row.id), group_name: group });
    page.add({ kind: 'item', item }, row.body.length);
  }
  const last = rows.at(-1);
  return last === undefined || last.is_last
    ? { at: 'keys', after: '' }
    : { at: 'items', after: last.number, to };
}

async function readKeys(
  sql: Sql,
  { after }: Extract<Place, { at: 'keys' }>,
  page: RecordPage,
): Promise<Place> {
  // A row with counter 0 was only locked and never pointed to a session.
  const rows = await sql.query<{
    key: string;
    whole_key: string | null;
    session_id: string;
    counter: number;
  }>(
    `SELECT key, whole_key, session_id, counter FROM reprise.active WHERE key > $1 AND counter > 0
     ORDER BY key LIMIT ${ROWS_PER_LOOK}`,
    [after],
  );
  for (const { key: short, whole_key, session_id, counter } of rows) {
    const key = whole_key ?? short;
    page.add({ kind: 'key', key, sessionId: session_id === '' ? null : session_id, counter }, key.length);
  }
  const last = rows.at(-1);
  return last === undefined || rows.length < ROWS_PER_LOOK
    ? { at: 'sessions', after: '' }
    : { at: 'keys', after: last.key };
}

/**
 * Reads one step: a session's record, some of its blobs or some of its lines. @returns `undefined` after the last
 * session.
 */
async function readSession(
  sql: Sql,
  { after, open }: SessionPlace,
  page: RecordPage,
): Promise<SessionPlace | undefined> {
  if (open === undefined) {
    const [row] = await sql.query<SessionRow>(
      `SELECT ${SESSION_COLUMNS} FROM reprise.sessions WHERE id > $1 ORDER BY id LIMIT 1`,
      [after],
    );
    if (row === undefined) return undefined;
    tellSession(row, page);
    return { at: 'sessions', after: row.id, open: { id: row.id, to: row.seq } };
  }
  // The session was purged meanwhile. Its id follows among the purged ids, and the target then removes what it has of
  // it.
  if ((await findSession(sql, open.id)) === undefined) return { at: 'sessions', after: open.id };
  if (open.from === undefined) return { at: 'sessions', after, open: await readBlobs(sql, open, page) };
  const next = await readLines(sql, open, open.from, page);
  if (next > open.to) return { at: 'sessions', after: open.id };
  return { at: 'sessions', after, open: { ...open, from: next } };
}

function tellSession(row: SessionRow, page: RecordPage): void {
  page.add({
    kind: 'session',
    id: row.id,
    agentId: row.agent_id,
    key: row.key,
    ...(row.parent_id !== null && { parentId: row.parent_id }),
    createdAt: row.created_at,
    epoch: row.epoch,
    lastSeq: row.seq,
    ...(row.corrupt_at !== null && { corruptAt: row.corrupt_at }),
  });
}

async function readBlobs(sql: Sql, open: OpenSession, page: RecordPage): Promise<OpenSession> {
  const { id, blob = '' } = open;
  const hashes = await sql.query<{ hash: string }>(
    `SELECT hash FROM reprise.blobs WHERE session_id = $1 AND hash > $2 ORDER BY hash LIMIT ${BLOBS_PER_LOOK}`,
    [id, blob],
  );
  for (const { hash } of hashes) {
    const [row] = await sql.query<{ bytes: Uint8Array }>(
      'SELECT bytes FROM reprise.blobs WHERE session_id = $1 AND hash = $2',
      [id, hash],
    );
    if (row !== undefined && sha256(row.bytes) === hash)
      page.add({ kind: 'blob', session: id, hash, bytes: row.bytes }, row.bytes.length);
    else page.add({ kind: 'damage', session: id, detail: `blob sha256:${hash} cannot be read` });
    if (page.isFull) return { ...open, blob: hash };
  }
  const last = hashes.at(-1);
  return last === undefined || hashes.length < BLOBS_PER_LOOK
    ? { ...open, from: 1 }
    : { ...open, blob: last.hash };
}

/** Reads lines and returns the next seq. Lines that do not match their seals are left out and reported as damage. */
async function readLines(sql: Sql, { id, to }: OpenSession, from: number, page: RecordPage): Promise<number> {
  const rows = await sql.query<{ seq: number; line: string; is_last: boolean }>(SOME_LINES, [id, from, to]);
  let seq = from;
  let first = from;
  let lines: Buffer[] = [];
  const flush = (): void => {
    const bytes = Buffer.concat(lines);
    if (lines.length > 0) page.add({ kind: 'lines', session: id, first, bytes }, bytes.length);
    lines = [];
  };
  const skipTo = (next: number): void => {
    flush();
    page.addMissing(id, seq, next - 1);
    seq = next;
    first = next;
  };
  for (const row of rows) {
    const bytes = Buffer.from(`${row.line}\n`);
    const decoded = decodeLine(bytes.subarray(0, -1));
    if (decoded.kind !== 'record' || decoded.seal === 'broken') continue;
    if (row.seq !== seq) skipTo(row.seq);
    lines.push(bytes);
    seq = row.seq + 1;
  }
  const last = rows.at(-1);
  const next = last === undefined || last.is_last ? to + 1 : last.seq + 1;
  skipTo(next);
  return next;
}

/** One chat after the other, in creation order, so that lists with equal times have the same order in the copy. */
async function readConvlog(
  sql: Sql,
  { chat, after }: Extract<Place, { at: 'convlog' }>,
  page: RecordPage,
): Promise<Place> {
  const [row] = await sql.query<ChatState>(
    `SELECT ${CHAT_COLUMNS} FROM reprise.convlog_chats WHERE chat >= $1 ORDER BY chat LIMIT 1`,
    [chat],
  );
  if (row === undefined) return { at: 'purged', after: '' };
  const lines = await sql.query<LineRow & { is_last: boolean }>(LOGGED, [
    row.chat,
    row.chat === chat ? after : 0,
  ]);
  for (const line of lines) page.add({ kind: 'convlog', line: toLine(row, line) }, line.content.length);
  const last = lines.at(-1);
  return last === undefined || last.is_last
    ? { at: 'convlog', chat: row.chat + 1, after: 0 }
    : { at: 'convlog', chat: row.chat, after: last.number };
}

async function readPurged(
  sql: Sql,
  { after }: Extract<Place, { at: 'purged' }>,
  page: RecordPage,
): Promise<Place | null> {
  const rows = await sql.query<{ id: string }>(
    `SELECT id FROM reprise.purged WHERE id > $1 ORDER BY id LIMIT ${ROWS_PER_LOOK}`,
    [after],
  );
  for (const { id } of rows) page.add({ kind: 'purged', id });
  const last = rows.at(-1);
  return last === undefined || rows.length < ROWS_PER_LOOK ? null : { at: 'purged', after: last.id };
}
