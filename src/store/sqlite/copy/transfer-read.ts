import { type Place, parseCursor, RecordPage } from '../../copy/transfer-place.ts';
import { type ChatRow, OF_CHAT, valuesOf } from '../../jsonl/channel-log/convlog-rows.ts';
import type { TransferPage } from '../../port/transfer.ts';
import { type LineRow, toLine } from '../../rules/convlog-line.ts';
import { textOfKept } from '../../rules/kept-key.ts';
import type { Database } from '../database.ts';
import { highestEpoch } from '../identity.ts';
import type { ScanContext } from '../read/scan.ts';
import type { Steps } from '../threads/steps.ts';
import { itemsAfter } from '../write/inbox-rows.ts';
import { readSessionCopy } from './transfer-session.ts';

const ROWS_PER_STEP = 200;

/** Reads a page of records. Each step uses its own snapshot (I-24); the position is the only state between steps. */
export function* readTransfer(context: ScanContext, cursor: string | undefined): Steps<TransferPage> {
  const page = new RecordPage();
  let place: Place | null = cursor === undefined ? { at: 'start' } : parseCursor(cursor);
  while (place !== null && !page.isFull) {
    const from: Place = place;
    place = context.db.snapshot(() => takeStep(context, from, page));
    yield;
  }
  return { records: page.records, cursor: place === null ? null : JSON.stringify(place) };
}

function takeStep(context: ScanContext, place: Place, page: RecordPage): Place | null {
  const { db } = context;
  switch (place.at) {
    case 'start':
      page.add({ kind: 'epoch', epoch: highestEpoch(db) });
      // Fix the end of the inbox now. A later message must be left out together with its key: a copied key without
      // its message would lose the message.
      return { at: 'items', after: 0, to: lastItem(db) };
    case 'items':
      return readItems(db, place, page);
    case 'inbound':
      return readInbound(db, place, page);
    case 'keys':
      return readKeys(db, place, page);
    case 'sessions':
      return readSessionCopy(context, place, page) ?? { at: 'convlog', chat: 0, after: 0 };
    case 'convlog':
      return readConvlog(db, place, page);
    case 'purged':
      return readPurged(db, place, page);
  }
}

function lastItem(db: Database): number {
  return db.row<{ n: number | null }>('SELECT max(number) AS n FROM inbox')?.n ?? 0;
}

function readItems(db: Database, { after, to }: Extract<Place, { at: 'items' }>, page: RecordPage): Place {
  let last = after;
  const rows = itemsAfter(db, { after, to, limit: ROWS_PER_STEP });
  for (const { number, item, bytes } of rows) {
    page.add({ kind: 'item', item }, bytes);
    last = number;
    if (page.isFull) return { at: 'items', after: last, to };
  }
  return rows.length < ROWS_PER_STEP
    ? { at: 'inbound', after: ['', '', ''], to }
    : { at: 'items', after: last, to };
}

interface InboundRow {
  readonly agent_id: string;
  readonly source: string;
  readonly key: string;
  readonly hash: string;
  readonly inbox_id: string;
}

function readInbound(
  db: Database,
  { after, to }: Extract<Place, { at: 'inbound' }>,
  page: RecordPage,
): Place {
  const rows = db.rows<InboundRow>(
    `SELECT k.* FROM inbound_keys k WHERE (k.agent_id, k.source, k.key) > (?, ?, ?)
       AND (SELECT number FROM inbox WHERE id = k.inbox_id) <= ?
     ORDER BY k.agent_id, k.source, k.key LIMIT ${ROWS_PER_STEP}`,
    ...after,
    to,
  );
  for (const { agent_id: agentId, source, key, hash, inbox_id: inboxId } of rows)
    page.add(
      { kind: 'inbound', agentId, source: textOfKept(source), key: textOfKept(key), hash, inboxId },
      source.length + key.length,
    );
  const last = rows.at(-1);
  if (last === undefined || rows.length < ROWS_PER_STEP) return { at: 'keys', after: '' };
  return { at: 'inbound', after: [last.agent_id, last.source, last.key], to };
}

function readKeys(db: Database, { after }: Extract<Place, { at: 'keys' }>, page: RecordPage): Place {
  const rows = db.rows<{ key: string; session_id: string; counter: number }>(
    `SELECT * FROM active WHERE key > ? ORDER BY key LIMIT ${ROWS_PER_STEP}`,
    after,
  );
  for (const { key, session_id, counter } of rows)
    page.add({ kind: 'key', key, sessionId: session_id === '' ? null : session_id, counter }, key.length);
  const last = rows.at(-1);
  return last === undefined || rows.length < ROWS_PER_STEP
    ? { at: 'sessions', after: '' }
    : { at: 'keys', after: last.key };
}

/** One chat after the other, in creation order, so that lists with equal times have the same order in the copy. */
function readConvlog(
  db: Database,
  { chat, after }: Extract<Place, { at: 'convlog' }>,
  page: RecordPage,
): Place {
  const row = db.row<ChatRow>('SELECT * FROM convlog_chats WHERE chat >= ? ORDER BY chat LIMIT 1', chat);
  if (row === undefined) return { at: 'purged', after: '' };
  let last = row.chat === chat ? after : 0;
  const lines = db.rows<LineRow>(
    `SELECT * FROM convlog_lines WHERE ${OF_CHAT} AND number > ? ORDER BY number LIMIT ${ROWS_PER_STEP}`,
    ...valuesOf(row),
    last,
  );
  for (const line of lines) {
    page.add({ kind: 'convlog', line: toLine(row, line) }, line.content.length);
    last = line.number;
    if (page.isFull) return { at: 'convlog', chat: row.chat, after: last };
  }
  const isDone = lines.length < ROWS_PER_STEP;
  return { at: 'convlog', chat: row.chat + (isDone ? 1 : 0), after: isDone ? 0 : last };
}

function readPurged(
  db: Database,
  { after }: Extract<Place, { at: 'purged' }>,
  page: RecordPage,
): Place | null {
  const rows = db.rows<{ id: string }>(
    `SELECT id FROM purged WHERE id > ? ORDER BY id LIMIT ${ROWS_PER_STEP}`,
    after,
  );
  for (const { id } of rows) page.add({ kind: 'purged', id });
  const last = rows.at(-1);
  return last === undefined || rows.length < ROWS_PER_STEP ? null : { at: 'purged', after: last.id };
}
