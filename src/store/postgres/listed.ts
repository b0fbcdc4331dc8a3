import type { Sql } from './connection/connections.ts';

const ROWS_AT_ONCE = 500;

/**
 * Brings what lists are sorted by up to what sessions count, some at a time; false when none is left. Beside the
 * appends: an indexed column that changes with every turn would have each of them write to all indexes of the table.
 * Rows that somebody works on are passed over, so nobody waits (I-61).
 */
export async function bringUpListed(sql: Sql): Promise<boolean> {
  const rows = await sql.query(
    `UPDATE reprise.sessions SET listed_messages = message_count, listed_tokens = token_estimate
     WHERE id IN (SELECT id FROM reprise.sessions WHERE unlisted ORDER BY id LIMIT ${ROWS_AT_ONCE}
       FOR UPDATE SKIP LOCKED) RETURNING 1 AS one`,
  );
  return rows.length === ROWS_AT_ONCE;
}
