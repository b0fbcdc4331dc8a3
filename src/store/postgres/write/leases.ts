import type { JsonObject } from '../../../transcript/json.ts';
import type { InboxItem } from '../../port/inbox.ts';
import type { LeaseInfo, ReleaseOptions } from '../../port/store.ts';
import { assertOpen, type LiveLease, leaseHeld } from '../../rules/refusals.ts';
import { parseHolder } from '../../shared/holder.ts';
import type { Sql } from '../connection/connections.ts';
import type { Tx } from '../connection/tx.ts';
import { lockAll, lockSession, type SessionRow } from '../rows.ts';
import { type SessionRef, sessionRef } from '../session-ref.ts';
import { isDeadNeighbour, type NodeHolder } from './holder.ts';
import { oldestAccepted } from './inbox-rows.ts';

interface LeaseRow {
  readonly session_id: string;
  readonly epoch: number;
  readonly holder: string;
  /** Whether it has expired, by the server's clock. */
  readonly is_over: boolean;
}

const COLUMNS = 'session_id, epoch, holder, expires_at <= clock_timestamp() AS is_over';
/** Appends lock the row of a session for milliseconds, so every caller waits at least this long for it. */
export const MIN_LOCK_MS = 500;
const EXPIRY = "clock_timestamp() + $4::bigint * interval '1 millisecond'";

/** The current holder of a session. The answer stays true only while the session is locked. */
export async function liveLease(tx: Tx, sessionId: string): Promise<LiveLease | undefined> {
  if (tx.sessions.get(sessionId)?.lease_epoch === 0) return undefined;
  return seenLease(tx, tx.self, sessionId);
}

/** The holder of a session without its lock, so the answer may be outdated. */
export async function seenLease(
  sql: Sql,
  self: NodeHolder,
  session: SessionRef,
): Promise<LiveLease | undefined> {
  const { is, value } = sessionRef(session, '$1');
  const [row] = await sql.query<LeaseRow>(`SELECT ${COLUMNS} FROM reprise.leases WHERE session_id = ${is}`, [
    value,
  ]);
  return row === undefined ? undefined : aliveIn(row, self);
}

/**
 * Whether this epoch belongs to the lease. The lease may have expired: it is lost only when another node takes it.
 */
export function isHolder(row: SessionRow, epoch: number): boolean {
  return row.epoch === epoch && row.lease_epoch === epoch;
}

/** The epoch of a lease that this store holds. */
export async function ownEpoch(tx: Tx, sessionId: string): Promise<number | undefined> {
  if (tx.sessions.get(sessionId)?.lease_epoch === 0) return undefined;
  const sql = 'SELECT epoch FROM reprise.leases WHERE session_id = $1 AND holder = $2';
  const [row] = await tx.query<{ epoch: number }>(sql, [sessionId, JSON.stringify(tx.self)]);
  return row?.epoch;
}

function aliveIn(row: LeaseRow, self: NodeHolder): LiveLease | undefined {
  const holder = parseHolder(row.holder);
  const isOurs = holder.engineId === self.engineId;
  // Also for our own rows: this store renews or gives up every lease that it knows before it expires. An unknown one
  // is left over from a grant whose answer was lost.
  if (row.is_over || (!isOurs && isDeadNeighbour(holder, self))) return undefined;
  return { epoch: row.epoch, holder };
}

/** Grants a lease. Its epoch is higher than every epoch ever used for writing (P5). */
export async function acquireLease(
  tx: Tx,
  { id, ttlMs, lockMs }: { readonly id: string; readonly ttlMs: number; readonly lockMs: number },
): Promise<number> {
  // A node that is frozen inside a transaction keeps the row locked, so this caller limits its wait.
  tx.run(`SET LOCAL lock_timeout = ${Math.ceil(Math.max(lockMs, MIN_LOCK_MS))}`);
  const row = await lockSession(tx, id);
  assertOpen(row);
  const held = await liveLease(tx, id);
  if (held !== undefined) throw leaseHeld(id, held);
  row.epoch = Math.max(row.epoch, await tx.epochFloor()) + 1;
  row.lease_epoch = row.epoch;
  tx.touch(row);
  tx.run(
    `INSERT INTO reprise.leases (session_id, epoch, holder, ttl_ms, expires_at) VALUES ($1, $2, $3, $4, ${EXPIRY})
     ON CONFLICT (session_id) DO UPDATE SET epoch = excluded.epoch, holder = excluded.holder,
       ttl_ms = excluded.ttl_ms, expires_at = excluded.expires_at`,
    [id, row.epoch, JSON.stringify(tx.self), ttlMs],
  );
  return row.epoch;
}

export interface LeaseRef {
  readonly id: string;
  readonly epoch: number;
}

/**
 * Renews a lease. @returns false if it is lost. A single statement without the session's lock, so it never waits for
 * an append.
 */
export async function renewLease(sql: Sql, self: NodeHolder, { id, epoch }: LeaseRef): Promise<boolean> {
  const rows = await sql.query(
    `UPDATE reprise.leases SET expires_at = clock_timestamp() + ttl_ms * interval '1 millisecond'
     WHERE session_id = $1 AND epoch = $2 AND holder = $3 RETURNING 1 AS one`,
    [id, epoch, JSON.stringify(self)],
  );
  return rows.length > 0;
}

/**
 * Releases a lease, unless a message waits: its sender saw a holder and relies on it. `handOver` releases it anyway.
 * Runs under the session's lock, which `receive` takes too, so one of the two sees the other.
 */
export async function releaseLease(
  tx: Tx,
  { id, epoch, handOver = false }: LeaseRef & ReleaseOptions,
): Promise<InboxItem | null> {
  const [row] = await lockAll(tx, [id]);
  if (row?.lease_epoch !== epoch) return null;
  const waiting = handOver ? null : await oldestAccepted(tx, id);
  if (waiting !== null) return waiting;
  row.lease_epoch = 0;
  tx.touch(row);
  tx.run('DELETE FROM reprise.leases WHERE session_id = $1 AND epoch = $2', [id, epoch]);
  return null;
}

export async function listLeases(sql: Sql, self: NodeHolder): Promise<LeaseInfo[]> {
  const rows = await sql.query<LeaseRow>(`SELECT ${COLUMNS} FROM reprise.leases ORDER BY session_id`);
  return rows.map((row) => ({
    sessionId: row.session_id,
    epoch: row.epoch,
    holder: parseHolder(row.holder) as unknown as JsonObject,
    alive: aliveIn(row, self) !== undefined,
  }));
}
