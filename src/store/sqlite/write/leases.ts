import type { JsonObject } from '../../../transcript/json.ts';
import type { InboxItem } from '../../port/inbox.ts';
import type { LeaseInfo, ReleaseOptions } from '../../port/store.ts';
import { assertOpen, type LiveLease, leaseHeld } from '../../rules/refusals.ts';
import { type Holder, isCertainlyDead, parseHolder } from '../../shared/holder.ts';
import type { Database } from '../database.ts';
import { epochFloor } from '../identity.ts';
import type { Batch } from './batch.ts';
import { oldestAccepted } from './inbox-rows.ts';

interface LeaseRow {
  readonly session_id: string;
  readonly epoch: number;
  readonly holder: string;
  readonly beat: number;
  readonly ttl_ms: number;
}

/**
 * Heartbeats of other engines and since when they have not changed, by our monotonic clock. Wall clocks are not
 * trusted.
 */
type Seen = Map<string, { readonly beat: string; readonly since: number }>;
const seenIn: WeakMap<Database, Seen> = new WeakMap();

function seenOf(db: Database): Seen {
  const seen: Seen = seenIn.get(db) ?? new Map();
  seenIn.set(db, seen);
  return seen;
}

export function liveLease(db: Database, sessionId: string, self: Holder): LiveLease | undefined {
  const row = db.row<LeaseRow>('SELECT * FROM leases WHERE session_id = ?', sessionId);
  if (row === undefined) return undefined;
  const holder = parseHolder(row.holder);
  if (holder.engineId === self.engineId) return { epoch: row.epoch, holder };
  if (isCertainlyDead(holder, self) || isSilent(db, row)) return undefined;
  return { epoch: row.epoch, holder };
}

function isSilent(db: Database, row: LeaseRow): boolean {
  const seen = seenOf(db);
  const beat = `${row.epoch}:${row.beat}`;
  const last = seen.get(row.session_id);
  if (last?.beat !== beat) {
    seen.set(row.session_id, { beat, since: performance.now() });
    return false;
  }
  return performance.now() - last.since > row.ttl_ms;
}

/** Grants a lease. Its epoch is higher than every epoch ever used for writing (P5). */
export function acquireLease(
  batch: Batch,
  { id, ttlMs }: { readonly id: string; readonly ttlMs: number },
): { epoch: number } {
  const row = batch.session(id);
  assertOpen(row);
  batch.assertWritable(row);
  const held = liveLease(batch.db, row.id, batch.self);
  if (held !== undefined) throw leaseHeld(id, held);
  batch.space?.assertRoom();
  row.epoch = Math.max(row.epoch, epochFloor(batch.db)) + 1;
  batch.touch(row);
  seenOf(batch.db).delete(row.id);
  batch.db.run(
    'INSERT OR REPLACE INTO leases VALUES (?, ?, ?, 0, ?)',
    row.id,
    row.epoch,
    JSON.stringify(batch.self),
    ttlMs,
  );
  return { epoch: row.epoch };
}

export interface LeaseRef {
  readonly id: string;
  readonly epoch: number;
}

/** Whether this engine holds the session with this epoch. */
export function isOwnLease({ db, self }: Batch, { id, epoch }: LeaseRef): boolean {
  const sql = 'SELECT 1 FROM leases WHERE session_id = ? AND epoch = ? AND holder = ?';
  return db.row(sql, id, epoch, JSON.stringify(self)) !== undefined;
}

/** @returns false if this engine has lost the lease. */
export function beat({ db, self }: Batch, { id, epoch }: LeaseRef): boolean {
  const changes = db.run(
    'UPDATE leases SET beat = beat + 1 WHERE session_id = ? AND epoch = ? AND holder = ?',
    id,
    epoch,
    JSON.stringify(self),
  );
  return changes > 0;
}

/**
 * Releases a lease, unless a message waits: its sender saw a holder and relies on it. `handOver` releases it anyway.
 */
export function releaseLease(
  { db, self }: Batch,
  { id, epoch, handOver = false }: LeaseRef & ReleaseOptions,
): InboxItem | null {
  const waiting = handOver ? null : oldestAccepted(db, id);
  const isOurs = db.row('SELECT 1 FROM leases WHERE session_id = ? AND epoch = ?', id, epoch) !== undefined;
  if (waiting !== null && isOurs) return waiting;
  db.run(
    'DELETE FROM leases WHERE session_id = ? AND epoch = ? AND holder = ?',
    id,
    epoch,
    JSON.stringify(self),
  );
  return null;
}

/** Releases all leases of this engine except the given ones. */
export function dropLeases(db: Database, self: Holder, { but }: { readonly but: readonly LeaseRef[] }): void {
  const ours = db.rows<LeaseRow>('SELECT * FROM leases WHERE holder = ?', JSON.stringify(self));
  for (const { session_id, epoch } of ours) {
    if (but.some((known) => known.id === session_id && known.epoch === epoch)) continue;
    db.run('DELETE FROM leases WHERE session_id = ? AND epoch = ?', session_id, epoch);
  }
}

export function listLeases(db: Database, self: Holder): LeaseInfo[] {
  return db
    .rows<LeaseRow>('SELECT * FROM leases ORDER BY session_id')
    .map(({ session_id, epoch, holder }) => ({
      sessionId: session_id,
      epoch,
      holder: JSON.parse(holder) as JsonObject,
      alive: !isCertainlyDead(JSON.parse(holder) as Holder, self),
    }));
}
