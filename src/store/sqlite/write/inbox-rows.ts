import type { InboxChange, InboxItem, InboxState, PendingQuery } from '../../port/inbox.ts';
import type { ReleaseHeldOptions } from '../../port/transfer.ts';
import { CANCELLED_DETAIL, type InboxRow, toItem } from '../../rules/inbox-item.ts';
import { unknownItem } from '../../rules/refusals.ts';
import type { Database } from '../database.ts';

const OPEN = "state IN ('accepted', 'running', 'waiting')";

export function cancelPending(db: Database, sessionId: string, reason: string): void {
  db.run(
    `UPDATE inbox SET state = 'cancelled', detail = ? WHERE session_id = ? AND (${OPEN} OR state = 'held')`,
    JSON.stringify({ reason }),
    sessionId,
  );
}

/**
 * For a restored copy: holds all open messages. After `release`, one that was running is treated like one after a
 * crash.
 */
export function holdPending(db: Database): void {
  db.run(`UPDATE inbox SET detail = json_object('heldFrom', state), state = 'held' WHERE ${OPEN}`);
}

export function heldItems(db: Database): InboxItem[] {
  return db.rows<InboxRow>("SELECT * FROM inbox WHERE state = 'held' ORDER BY number").map(toItem);
}

export function releaseHeld(
  { db }: { readonly db: Database },
  { cancel = false }: ReleaseHeldOptions,
): number {
  if (cancel)
    return db.run("UPDATE inbox SET state = 'cancelled', detail = ? WHERE state = 'held'", CANCELLED_DETAIL);
  return db.run(
    `UPDATE inbox SET state = CASE json_extract(detail, '$.heldFrom') WHEN 'running' THEN 'running' WHEN 'waiting' THEN 'waiting' ELSE 'accepted' END,
       detail = NULL WHERE state = 'held'`,
  );
}

export function getItem(db: Database, inboxId: string): InboxItem {
  const row = db.row<InboxRow>('SELECT * FROM inbox WHERE id = ?', inboxId);
  if (row === undefined) throw unknownItem(inboxId);
  return toItem(row);
}

export function oldestAccepted(db: Database, sessionId: string): InboxItem | null {
  return oldest(db, sessionId, 'accepted');
}

export function oldestRunning(db: Database, sessionId: string): InboxItem | null {
  return oldest(db, sessionId, 'running');
}

function oldest(db: Database, sessionId: string, state: InboxState): InboxItem | null {
  // Both states are written out so that SQLite uses their index. Commands run in the process that received them.
  const row = db.row<InboxRow>(
    `SELECT * FROM inbox WHERE session_id = ? AND ${OPEN} AND state = ? AND class <> 'command' ORDER BY number LIMIT 1`,
    sessionId,
    state,
  );
  return row === undefined ? null : toItem(row);
}

/** @returns null if the item runs or has ended, or belongs to another session. */
export function acceptedItem(db: Database, sessionId: string, inboxId: string): InboxItem | null {
  const row = db.row<InboxRow>(
    "SELECT * FROM inbox WHERE id = ? AND session_id = ? AND state IN ('accepted', 'waiting') AND class <> 'command'",
    inboxId,
    sessionId,
  );
  return row === undefined ? null : toItem(row);
}

/** The messages that count for the cap of the queue, oldest first. */
export function queuedMessages(db: Database, sessionId: string): InboxItem[] {
  return db
    .rows<InboxRow>(
      `SELECT * FROM inbox WHERE session_id = ? AND ${OPEN} AND state = 'accepted' AND class = 'message' ORDER BY number`,
      sessionId,
    )
    .map(toItem);
}

export function hasOpenItem(db: Database, sessionId: string): boolean {
  return db.row(`SELECT 1 FROM inbox WHERE session_id = ? AND ${OPEN} LIMIT 1`, sessionId) !== undefined;
}

export function countGroup(db: Database, name: string): number {
  const sql = `SELECT count(*) AS n FROM inbox WHERE group_name = ? AND group_name IS NOT NULL AND ${OPEN}`;
  return db.row<{ n: number }>(sql, name)?.n ?? 0;
}

export function pendingItems(db: Database, { sessionId, group }: PendingQuery): InboxItem[] {
  const filters = [
    { sql: 'session_id = ?', value: sessionId },
    { sql: 'group_name = ? AND group_name IS NOT NULL', value: group },
  ].flatMap(({ sql, value }) => (value === undefined ? [] : [{ sql, value }]));
  const where = [...filters.map(({ sql }) => sql), OPEN].join(' AND ');
  const values = filters.map(({ value }) => value);
  return db.rows<InboxRow>(`SELECT * FROM inbox WHERE ${where} ORDER BY number`, ...values).map(toItem);
}

export interface NumberedItem {
  readonly number: number;
  readonly item: InboxItem;
  /** Approximate size. */
  readonly bytes: number;
}

/** Items in any state, in the order of acceptance. */
export function itemsAfter(
  db: Database,
  { after, to, limit }: { readonly after: number; readonly to: number; readonly limit: number },
): NumberedItem[] {
  return db
    .rows<InboxRow & { readonly number: number }>(
      'SELECT * FROM inbox WHERE number > ? AND number <= ? ORDER BY number LIMIT ?',
      after,
      to,
      limit,
    )
    .map((row) => ({ number: row.number, item: toItem(row), bytes: row.body.length }));
}

/** Writes a copied item. An identical row stays untouched, so that it wakes no watcher. */
export function saveItem(db: Database, item: InboxItem): void {
  const { detail, carries } = item;
  const values = [
    item.state,
    JSON.stringify(item.body),
    detail === undefined ? null : JSON.stringify(detail),
    item.attempts,
    carries === undefined ? null : JSON.stringify(carries),
  ];
  db.run(
    `INSERT INTO inbox (state, body, detail, attempts, carries, id, session_id, session_key, created_at, class, group_name)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET state = excluded.state, body = excluded.body, detail = excluded.detail,
       attempts = excluded.attempts, carries = excluded.carries
     WHERE (state, body, detail, attempts, carries) IS NOT
       (excluded.state, excluded.body, excluded.detail, excluded.attempts, excluded.carries)`,
    ...values,
    item.inboxId,
    item.sessionId,
    item.sessionKey,
    item.createdAt,
    item.class,
    item.group ?? null,
  );
}

export interface InboxChanges {
  /** All changes up to this number and after that of the request are in `items`. */
  readonly at: number;
  readonly items: readonly InboxChange[];
}

/** The rows that were accepted or settled since; without `after` only the number to begin from. */
export function inboxChanges(db: Database, after: number | undefined): InboxChanges {
  const at = db.row<{ at: number | null }>('SELECT max(change) AS at FROM inbox WHERE change > 0')?.at ?? 0;
  if (after === undefined || after === at) return { at, items: [] };
  const rows = db.rows<{ session_id: string; id: string; state: InboxState }>(
    'SELECT session_id, id, state FROM inbox WHERE change > 0 AND change > ? ORDER BY change',
    // A salvaged database counts from 1 again.
    after > at ? 0 : after,
  );
  const items = rows.map(({ session_id, id, state }) => ({ sessionId: session_id, inboxId: id, state }));
  return { at, items };
}
