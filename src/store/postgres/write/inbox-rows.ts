import { escapeKeyPart, unescapeKeyPart } from '../../../keys/escape.ts';
import type { InboxItem, InboxState, PendingQuery } from '../../port/inbox.ts';
import type { ReleaseHeldOptions } from '../../port/transfer.ts';
import { CANCELLED_DETAIL, type InboxRow, toItem } from '../../rules/inbox-item.ts';
import { unknownItem } from '../../rules/refusals.ts';
import type { Sql } from '../connection/connections.ts';
import type { Tx } from '../connection/tx.ts';
import { type SessionRef, sessionRef } from '../session-ref.ts';

const COLUMNS =
  'id, session_id, session_key, state, class, group_name, body, detail, carries, attempts, created_at';
/** All three states are written out wherever one is queried, so that PostgreSQL uses their index. */
const OPEN = "state IN ('accepted', 'running', 'waiting')";

/** Commands run in the process that received them. */
const OLDEST = `SELECT ${COLUMNS} FROM reprise.inbox
  WHERE session_id = $1 AND ${OPEN} AND state = $2 AND class <> 'command' ORDER BY number LIMIT 1`;

/** Selects by state, never after a number: rows become visible in another order than they are numbered. */
const TAKE_OLDEST = `UPDATE reprise.inbox SET state = 'running', attempts = attempts + 1
  WHERE (session_id, number) = (
    SELECT session_id, number FROM reprise.inbox
    WHERE session_id = $1 AND ${OPEN} AND state = $2 AND class <> 'command'
    ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED)
  RETURNING ${COLUMNS}`;

const TAKE_ONE = `UPDATE reprise.inbox SET state = 'running', attempts = attempts + 1
  WHERE id = $2 AND session_id = $1 AND state IN ('accepted', 'waiting') AND class <> 'command' RETURNING ${COLUMNS}`;

/** Locked, because a transaction that settles one of these rows does not hold the session's lock. */
const QUEUED = (session: string): string => `SELECT ${COLUMNS} FROM reprise.inbox
  WHERE session_id = ${session} AND ${OPEN} AND state = 'accepted' AND class = 'message' ORDER BY number FOR UPDATE`;

const SETTLE = `UPDATE reprise.inbox AS i SET state = s.state, detail = s.detail,
    attempts = CASE s.state WHEN 'waiting' THEN 0 ELSE i.attempts END
  FROM unnest($1::text[], $2::text[], $3::text[]) AS s (id, state, detail)
  WHERE i.id = s.id AND i.${OPEN} RETURNING i.session_id`;

const INSERT = `INSERT INTO reprise.inbox
    (id, session_id, session_key, state, class, group_name, body, carries, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;

/** Group names may be any text, so they are stored escaped. */
const item = (row: InboxRow): InboxItem =>
  toItem({ ...row, group_name: row.group_name === null ? null : unescapeKeyPart(row.group_name) });

const first = ([row]: readonly InboxRow[]): InboxItem | null => (row === undefined ? null : item(row));

export async function findItem(sql: Sql, inboxId: string): Promise<InboxItem | null> {
  const sought = escapeKeyPart(inboxId);
  return first(await sql.query<InboxRow>(`SELECT ${COLUMNS} FROM reprise.inbox WHERE id = $1`, [sought]));
}

export async function getItem(sql: Sql, inboxId: string): Promise<InboxItem> {
  return (await findItem(sql, inboxId)) ?? refuseUnknownItem(inboxId);
}

function refuseUnknownItem(inboxId: string): never {
  throw unknownItem(inboxId);
}

/** In the order of the ids; ids of unknown items are left out. */
export async function findItems(sql: Sql, inboxIds: readonly string[]): Promise<InboxItem[]> {
  if (inboxIds.length === 0) return [];
  const rows = await sql.query<InboxRow>(`SELECT ${COLUMNS} FROM reprise.inbox WHERE id = ANY($1)`, [
    inboxIds.map(escapeKeyPart),
  ]);
  const found = new Map(rows.map((row) => [row.id, item(row)]));
  return inboxIds.flatMap((inboxId) => found.get(inboxId) ?? found.get(escapeKeyPart(inboxId)) ?? []);
}

/** The open items of a session, oldest first. Locked, because a stop does not lock the session. */
export async function lockOpen(
  tx: Tx,
  sessionId: string,
): Promise<readonly { readonly item: InboxItem; readonly turnId: string | null }[]> {
  const rows = await tx.query<InboxRow & { readonly turn_id: string | null }>(
    `SELECT ${COLUMNS}, turn_id FROM reprise.inbox WHERE session_id = $1 AND ${OPEN} ORDER BY number FOR UPDATE`,
    [sessionId],
  );
  return rows.map(({ turn_id: turnId, ...row }) => ({ item: item(row), turnId }));
}

/** For a row that this transaction has locked. */
export function runRow(
  tx: Tx,
  { inboxId, turnId }: { readonly inboxId: string; readonly turnId: string },
): void {
  tx.run("UPDATE reprise.inbox SET state = 'running', attempts = attempts + 1, turn_id = $2 WHERE id = $1", [
    escapeKeyPart(inboxId),
    turnId,
  ]);
}

export async function oldestAccepted(sql: Sql, sessionId: string): Promise<InboxItem | null> {
  return first(await sql.query<InboxRow>(OLDEST, [sessionId, 'accepted']));
}

/** Counts the attempt before the work starts, so that a crash loop ends. */
export async function takeOldest(
  tx: Tx,
  sessionId: string,
  state: 'accepted' | 'running',
): Promise<InboxItem | null> {
  return first(await tx.query<InboxRow>(TAKE_OLDEST, [sessionId, state]));
}

/** @returns null if the item runs or has ended, or belongs to another session. */
export async function takeOne(tx: Tx, sessionId: string, inboxId: string): Promise<InboxItem | null> {
  return first(await tx.query<InboxRow>(TAKE_ONE, [sessionId, escapeKeyPart(inboxId)]));
}

/** The messages that count for the cap of the queue, oldest first. */
export async function queuedMessages(tx: Tx, session: SessionRef): Promise<InboxItem[]> {
  const { is, value } = sessionRef(session, '$1');
  return (await tx.query<InboxRow>(QUEUED(is), [value])).map(item);
}

export async function hasOpenItem(tx: Tx, sessionId: string): Promise<boolean> {
  const sql = `SELECT 1 AS one FROM reprise.inbox WHERE session_id = $1 AND ${OPEN} LIMIT 1`;
  return (await tx.query(sql, [sessionId])).length > 0;
}

/**
 * Counts a group and locks it: no other transaction can add to the group before this one ends. The lock row is
 * deleted in the same transaction; a waiting transaction inserts a new one.
 */
export async function countGroup(tx: Tx, name: string): Promise<number> {
  const values = [escapeKeyPart(name)];
  tx.run(
    `INSERT INTO reprise.inbox_group_locks (name) VALUES ($1)
     ON CONFLICT (name) DO UPDATE SET name = excluded.name`,
    values,
  );
  tx.run('DELETE FROM reprise.inbox_group_locks WHERE name = $1', values);
  const [row] = await tx.query<{ n: number }>(
    `SELECT count(*) AS n FROM reprise.inbox WHERE group_name = $1 AND group_name IS NOT NULL AND ${OPEN}`,
    values,
  );
  return row?.n ?? 0;
}

export type NewItem = Omit<InboxItem, 'attempts' | 'detail'>;

export function insertItem(tx: Tx, row: NewItem): void {
  const { inboxId, sessionId, sessionKey, state, class: kind, group, body, carries, createdAt } = row;
  tx.run(INSERT, [
    inboxId,
    sessionId,
    sessionKey,
    state,
    kind,
    group === undefined ? null : escapeKeyPart(group),
    JSON.stringify(body),
    carries === undefined ? null : JSON.stringify(carries),
    createdAt,
  ]);
  tx.news.inboxes.add(sessionId);
}

export interface Settled {
  readonly id: string;
  readonly state: InboxState;
  /** JSON. */
  readonly detail: string | null;
}

/** Settles items. A final state stays: the first settlement wins. Unknown ids are refused. */
export async function settleItems(tx: Tx, items: readonly Settled[]): Promise<void> {
  const once = new Map<string, Settled>();
  for (const settled of items) if (!once.has(settled.id)) once.set(settled.id, settled);
  const all = [...once.values()];
  const ids = all.map(({ id }) => escapeKeyPart(id));
  const changed = await tx.query<{ session_id: string }>(SETTLE, [
    ids,
    all.map(({ state }) => state),
    all.map(({ detail }) => detail),
  ]);
  for (const { session_id } of changed) tx.news.inboxes.add(session_id);
  if (changed.length === all.length) return;
  const known = await tx.query<{ id: string }>('SELECT id FROM reprise.inbox WHERE id = ANY($1)', [ids]);
  const there = new Set(known.map(({ id }) => id));
  const missing = all.find((_, i) => !there.has(ids[i] ?? ''));
  if (missing !== undefined) refuseUnknownItem(missing.id);
}

export function setCarries(tx: Tx, inboxId: string, carries: readonly string[]): void {
  tx.run('UPDATE reprise.inbox SET carries = $2 WHERE id = $1', [inboxId, JSON.stringify(carries)]);
}

export function setAttempts(
  tx: Tx,
  sessionId: string,
  { inboxId, attempts }: Pick<InboxItem, 'inboxId' | 'attempts'>,
): void {
  tx.run("UPDATE reprise.inbox SET attempts = $3 WHERE id = $2 AND session_id = $1 AND state = 'running'", [
    sessionId,
    escapeKeyPart(inboxId),
    attempts,
  ]);
}

/**
 * For a restored copy: holds all open messages. After `release`, one that was running is treated like one after a
 * crash.
 */
export function holdPending(tx: Tx): void {
  tx.run(
    `UPDATE reprise.inbox SET detail = json_build_object('heldFrom', state)::text, state = 'held' WHERE ${OPEN}`,
  );
}

export async function heldItems(sql: Sql): Promise<InboxItem[]> {
  const rows = await sql.query<InboxRow>(
    `SELECT ${COLUMNS} FROM reprise.inbox WHERE state = 'held' ORDER BY number`,
  );
  return rows.map(item);
}

export async function releaseHeld(tx: Tx, { cancel = false }: ReleaseHeldOptions): Promise<number> {
  const released = cancel
    ? "state = 'cancelled', detail = $1"
    : "state = CASE detail::json ->> 'heldFrom' WHEN 'running' THEN 'running' WHEN 'waiting' THEN 'waiting' ELSE 'accepted' END, detail = $1";
  const rows = await tx.query<{ session_id: string }>(
    `UPDATE reprise.inbox SET ${released} WHERE state = 'held' RETURNING session_id`,
    [cancel ? CANCELLED_DETAIL : null],
  );
  for (const { session_id } of rows) tx.news.inboxes.add(session_id);
  return rows.length;
}

/** For a deleted session. */
export function cancelPending(tx: Tx, sessionId: string, reason: string): void {
  tx.run(
    `UPDATE reprise.inbox SET state = 'cancelled', detail = $2 WHERE session_id = $1 AND (${OPEN} OR state = 'held')`,
    [sessionId, JSON.stringify({ reason })],
  );
  tx.news.inboxes.add(sessionId);
}

/** For a purged session: the rows stay without their text, so that a message is never accepted twice. */
export function forgetBodies(tx: Tx, sessionId: string): void {
  tx.run("UPDATE reprise.inbox SET body = '{}', detail = NULL, carries = NULL WHERE session_id = $1", [
    sessionId,
  ]);
}

/** Deletes messages without an idempotency key; they cannot be delivered again. */
export function dropUnkeyed(tx: Tx, sessionId: string): void {
  tx.run(
    `DELETE FROM reprise.inbox AS i WHERE session_id = $1
       AND NOT EXISTS (SELECT 1 FROM reprise.inbound_keys AS k WHERE k.inbox_id = i.id)`,
    [sessionId],
  );
}

export async function pendingItems(sql: Sql, { sessionId, group }: PendingQuery): Promise<InboxItem[]> {
  const filters = [
    { column: 'session_id', value: sessionId },
    { column: 'group_name', value: group === undefined ? undefined : escapeKeyPart(group) },
  ].flatMap(({ column, value }) => (value === undefined ? [] : [{ column, value }]));
  const where = filters.map(({ column }, i) => `${column} = $${i + 1} AND`).join(' ');
  const rows = await sql.query<InboxRow>(
    `SELECT ${COLUMNS} FROM reprise.inbox WHERE ${where} ${OPEN} ORDER BY number`,
    filters.map(({ value }) => value),
  );
  return rows.map(item);
}
