import { EPOCH_JUMP } from '../rules/epoch-jump.ts';
import { type Database, identityOf } from './database.ts';

/**
 * control.db knows its own device and inode. When they differ it was copied, restored or moved: whoever wrote since
 * the copy was made had epochs this one has never seen, so grants go on far above all it knows (P5).
 */
export function claimIdentity(db: Database, path: string): void {
  const identity = identityOf(path);
  const known = meta(db, 'identity');
  if (known === identity) return;
  if (known !== undefined) raiseEpochFloor(db);
  setMeta(db, 'identity', identity);
}

/** Above every epoch the index knows, by a distance nobody can have covered unseen. */
export function raiseEpochFloor(db: Database, highest = 0): void {
  setMeta(db, 'epoch_floor', String(Math.max(highest, highestEpoch(db)) + EPOCH_JUMP));
}

/** No grant the index knows of was higher. */
export function highestEpoch(db: Database): number {
  const known = db.row<{ epoch: number | null }>(
    'SELECT max(epoch) AS epoch FROM (SELECT epoch FROM sessions UNION ALL SELECT epoch FROM leases)',
  );
  return Math.max(known?.epoch ?? 0, epochFloor(db));
}

/** No grant is below this. */
export function epochFloor(db: Database): number {
  return Number(meta(db, 'epoch_floor') ?? 0);
}

/** Whether every transcript was compared with this very file once, so that only what happens from now on can differ. */
export function isSurveyed(db: Database): boolean {
  const identity = meta(db, 'identity');
  return identity !== undefined && meta(db, 'surveyed') === identity;
}

export function markSurveyed(db: Database): void {
  setMeta(db, 'surveyed', meta(db, 'identity') ?? '');
}

export function meta(db: Database, name: string): string | undefined {
  // Read itself, not found by its index: a damaged one led to another row, whose number passed for a newer version.
  return db.row<{ value: string }>('SELECT value FROM meta NOT INDEXED WHERE name = ?', name)?.value;
}

export function setMeta(db: Database, name: string, value: string): void {
  db.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', name, value);
}
