import type { Sql } from './connection/connections.ts';

const ROWS_AT_ONCE = 500;

/**
 * Updates the counts in the list indexes, some rows at a time. @returns false when none is left. This happens outside
 * of appends: an indexed column that changes with every turn would make each append write to all indexes of the
 * table. Locked rows are skipped, so it never delays an append (I-61).
 */
export async function bringUpListed(sql: Sql): Promise<boolean> {
  const rows = await sql.query(
    `UPDATE reprise.sessions SET listed_messages = message_count, listed_tokens = token_estimate
     WHERE id IN (SELECT id FROM reprise.sessions WHERE unlisted ORDER BY id LIMIT ${ROWS_AT_ONCE}
       FOR UPDATE SKIP LOCKED) RETURNING 1 AS one`,
  );
  return rows.length === ROWS_AT_ONCE;
}
