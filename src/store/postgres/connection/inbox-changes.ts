import type { InboxChange, InboxState } from '../../port/inbox.ts';
import type { Sql } from './connections.ts';

/**
 * Finds the sessions with a row accepted or settled since the last query. A row carries the id of the transaction
 * that changed it, and transaction ids are assigned when transactions begin. So each query covers everything from the
 * oldest transaction that was still running at the previous query: no change can be missed, but some rows are seen
 * again.
 */

/** A transaction id as text, because it can exceed the exact integers of a double. */
export type Xid = string;

interface ChangeRow {
  readonly at: Xid;
  readonly session_id: string | null;
  readonly id: string | null;
  readonly xid: Xid | null;
  readonly state: InboxState;
}

/**
 * A single statement, so that the position and the rows come from the same snapshot. It returns a row even without
 * changes.
 */
const CHANGES = `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS at, i.session_id, i.id, i.state,
    i.changed_by::text AS xid
  FROM (SELECT 1 AS one) AS always LEFT JOIN reprise.inbox AS i ON i.changed_by >= $1::xid8`;

/** The starting position: everything committed from now on counts as a change. */
export async function currentXid(sql: Sql): Promise<Xid> {
  const [row] = await sql.query<{ at: Xid }>('SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS at');
  return row?.at ?? '0';
}

/** A position among the changes of the inboxes. */
export class InboxChanges {
  #at: Xid;
  /** The reported changes of rows that will be seen again, by row id. */
  #told: Map<string, Xid> = new Map();

  constructor(at: Xid) {
    this.#at = at;
  }

  get at(): Xid {
    return this.#at;
  }

  /** The rows that changed since the last call. */
  async next(sql: Sql): Promise<InboxChange[]> {
    const rows = await sql.query<ChangeRow>(CHANGES, [this.#at]);
    const items: InboxChange[] = [];
    const told = new Map<string, Xid>();
    const at = rows[0]?.at ?? this.#at;
    for (const { session_id, id, xid, state } of rows) {
      if (session_id === null || id === null || xid === null) continue;
      if (this.#told.get(id) !== xid) items.push({ sessionId: session_id, inboxId: id, state });
      if (BigInt(xid) >= BigInt(at)) told.set(id, xid);
    }
    this.#at = at;
    this.#told = told;
    return items;
  }
}

/**
 * A database restored from a dump restarts its transaction ids; rows with old ids would look changed until the
 * counter catches up. No transaction of this server can have such an id yet.
 */
export async function forgetForeignXids(sql: Sql): Promise<void> {
  const rows = await sql.query(
    'SELECT 1 AS one FROM reprise.inbox WHERE changed_by >= pg_snapshot_xmax(pg_current_snapshot()) LIMIT 1',
  );
  // Write only if needed: the database may be open read-only.
  if (rows.length === 0) return;
  await sql.query(
    "UPDATE reprise.inbox SET changed_by = '0' WHERE changed_by >= pg_snapshot_xmax(pg_current_snapshot())",
  );
}
