import type { Sql } from './connection/connections.ts';

const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
const ROWS_AT_ONCE = 500;

const FORGET = `UPDATE reprise.inbox SET body = '{}' WHERE (session_id, number) IN (
    SELECT session_id, number FROM reprise.inbox
    WHERE state NOT IN ('accepted', 'running') AND state NOT IN ('held', 'waiting') AND body <> '{}' AND created_at < $1
    ORDER BY created_at LIMIT ${ROWS_AT_ONCE} FOR UPDATE SKIP LOCKED)
  RETURNING number`;

/**
 * Removes the text of old messages. The history has the text of a message that has ended, so a month after it arrived
 * its row keeps only id, state and detail; its idempotency key stays permanently. @returns true if there may be more
 * rows.
 */
export async function dropOldBodies(sql: Sql, now: number): Promise<boolean> {
  const rows = await sql.query(FORGET, [new Date(now - KEPT_MS).toISOString()]);
  return rows.length === ROWS_AT_ONCE;
}
