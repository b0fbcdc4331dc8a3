import { EPOCH_JUMP } from '../rules/epoch-jump.ts';
import { type Database, identityOf } from './database.ts';

/**
 * control.db stores its own device and inode. If they differ, the file was copied, restored or moved. Other processes
 * may have written to the original with epochs that this file does not know, so new grants continue far above all
 * known epochs (P5).
 */
export function claimIdentity(db: Database, path: string): void {
  const identity = identityOf(path);
  const known = meta(db, 'identity');
  if (known === identity) return;
  if (known !== undefined) raiseEpochFloor(db);
  setMeta(db, 'identity', identity);
}

/** Raises the lowest future epoch above every known one, by more than any process can have used meanwhile. */
export function raiseEpochFloor(db: Database, highest = 0): void {
  setMeta(db, 'epoch_floor', String(Math.max(highest, highestEpoch(db)) + EPOCH_JUMP));
}

/** The highest epoch that the index knows. */
export function highestEpoch(db: Database): number {
  const known = db.row<{ epoch: number | null }>(
    'SELECT max(epoch) AS epoch FROM (SELECT epoch FROM sessions UNION ALL SELECT epoch FROM leases)',
  );
  return Math.max(known?.epoch ?? 0, epochFloor(db));
}

/** Every new grant has at least this epoch. */
export function epochFloor(db: Database): number {
  return Number(meta(db, 'epoch_floor') ?? 0);
}

/** Whether every transcript was compared with this database file once. If so, only later changes can differ. */
export function isSurveyed(db: Database): boolean {
  const identity = meta(db, 'identity');
  return identity !== undefined && meta(db, 'surveyed') === identity;
}

export function markSurveyed(db: Database): void {
  setMeta(db, 'surveyed', meta(db, 'identity') ?? '');
}

export function meta(db: Database, name: string): string | undefined {
  // Read from the table, not through its index: a damaged index once returned another row, whose value looked like a
  // newer version.
  return db.row<{ value: string }>('SELECT value FROM meta NOT INDEXED WHERE name = ?', name)?.value;
}

export function setMeta(db: Database, name: string, value: string): void {
  db.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', name, value);
}
