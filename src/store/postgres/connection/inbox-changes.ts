import type { Sql } from './connections.ts';

/**
 * Which sessions had a row accepted or settled since. A row carries the number of the transaction that changed it, and
 * numbers are given when transactions begin: what is asked for is everything from the oldest on that was still under
 * way the last time. So nothing can become visible behind the place we are at, and some rows are met again.
 */

/** The number of a transaction, as text: it is larger than what a double holds. */
export type Xid = string;

interface ChangeRow {
  readonly at: Xid;
  readonly session_id: string | null;
  readonly id: string | null;
  readonly xid: Xid | null;
}

/** One statement, so that the place and the rows are of the same snapshot. There is a row even without changes. */
const CHANGES = `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS at, i.session_id, i.id,
    i.changed_by::text AS xid
  FROM (SELECT 1 AS one) AS always LEFT JOIN reprise.inbox AS i ON i.changed_by >= $1::xid8`;

/** Where to begin: everything that is committed from now on is news. */
export async function currentXid(sql: Sql): Promise<Xid> {
  const [row] = await sql.query<{ at: Xid }>('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS at');
  return row?.at ?? '0';
}

/** A place among the changes of an inbox. */
export class InboxChanges {
  #at: Xid;
  /** What was told of rows that will be met again, by their ids. */
  #told: Map<string, Xid> = new Map();

  constructor(at: Xid) {
    this.#at = at;
  }

  get at(): Xid {
    return this.#at;
  }

  /** Each session once, of all that changed since the last time. */
  async next(sql: Sql): Promise<string[]> {
    const rows = await sql.query<ChangeRow>(CHANGES, [this.#at]);
    const sessions = new Set<string>();
    const told = new Map<string, Xid>();
    const at = rows[0]?.at ?? this.#at;
    for (const { session_id, id, xid } of rows) {
      if (session_id === null || id === null || xid === null) continue;
      if (this.#told.get(id) !== xid) sessions.add(session_id);
      if (BigInt(xid) >= BigInt(at)) told.set(id, xid);
    }
    this.#at = at;
    this.#told = told;
    return [...sessions];
  }
}

/**
 * A database that was copied by its contents counts its transactions anew; rows from before would be news until it has
 * counted as far. No transaction of this server can have such a number yet.
 */
export async function forgetForeignXids(sql: Sql): Promise<void> {
  const rows = await sql.query(
    'SELECT 1 AS one FROM reprise.inbox WHERE changed_by >= pg_snapshot_xmax(pg_current_snapshot()) LIMIT 1',
  );
  // Written only where there is something to write: a database may be opened to be read.
  if (rows.length === 0) return;
  await sql.query(
    "UPDATE reprise.inbox SET changed_by = '0' WHERE changed_by >= pg_snapshot_xmax(pg_current_snapshot())",
  );
}
