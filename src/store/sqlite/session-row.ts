import { failure } from '../../messages/failure.ts';
import { seqForEntryId } from '../../transcript/entry-id.ts';
import type { SessionRecord } from '../port/store.ts';
import { unknownSession } from '../rules/refusals.ts';
import { recentOf, recordOf, type SessionState } from '../rules/session-state.ts';
import type { Database } from './database.ts';

/** A row of `sessions` as SQLite reads and writes it. */
export interface SessionRow extends SessionState {
  file_seq: number;
  file_size: number;
  synced_seq: number;
  synced_size: number;
  /** The counts that the list indexes hold, and whether the session has grown since (1) or not (0); see listed.ts. */
  listed_messages: number;
  listed_tokens: number;
  grown: number;
}

/**
 * Columns that an append may change and that no index contains. The others are set once or belong to the transcript
 * file.
 */
const CHANGEABLE = [
  'title',
  'label',
  'last_at',
  'message_count',
  'turn_count',
  'token_estimate',
  'settings',
  'seq',
  'q',
  'leaf',
  'epoch',
  'context_seq',
  'context_compaction',
] as const satisfies readonly (keyof SessionState)[];

const UPDATE = `UPDATE sessions SET ${CHANGEABLE.map((name) => `${name} = ?`).join(', ')} WHERE id = ?`;

export function findSession(db: Database, id: string): SessionRow | undefined {
  const row = findIgnoringCase(db, id);
  return row?.id === id ? row : undefined;
}

/** Some file systems ignore case, so ids that differ only in case count as the same id. */
export function findIgnoringCase(db: Database, id: string): SessionRow | undefined {
  return db.row<SessionRow>('SELECT * FROM sessions WHERE id = ?', id);
}

export function getSession(db: Database, id: string): SessionRow {
  const row = findSession(db, id);
  if (row === undefined) return refuseUnknown(db, id);
  assertRead(row);
  return row;
}

/** Refuses a session of which only the header was read: appending now would ignore its lines. */
export function assertRead({ id, seq }: SessionRow): void {
  if (seq > 0) return;
  throw failure('STORE_BUSY', 'session.notRead', { id }, { details: { id } });
}

export function refuseUnknown(db: Database, id: string): never {
  throw unknownSession(id, isPurged(db, id));
}

export function isPurged(db: Database, id: string): boolean {
  return db.row('SELECT 1 FROM purged WHERE id = ?', id) !== undefined;
}

export function saveSession(db: Database, row: SessionRow): void {
  // Set `grown` first, or the trigger sets it again.
  const isListed = row.message_count === row.listed_messages && row.token_estimate === row.listed_tokens;
  const grown = isListed ? 0 : 1;
  if (grown !== row.grown) {
    row.grown = grown;
    db.run('UPDATE sessions SET grown = ? WHERE id = ?', grown, row.id);
  }
  db.run(UPDATE, ...CHANGEABLE.map((name) => row[name]), row.id);
  // Write indexed columns only when they change: SQLite updates every index of a written column, even for an equal
  // value.
  db.run('UPDATE sessions SET status = ? WHERE id = ? AND status <> ?', row.status, row.id, row.status);
  const recent = recentOf(row.last_at);
  if (recent !== row.recent) {
    row.recent = recent;
    db.run('UPDATE sessions SET recent = ? WHERE id = ?', recent, row.id);
  }
}

/** Finds the seq of an entry id. Our own ids encode their line number; only lines of other tools need a query. */
export function seqFinder(db: Database, row: SessionRow): (id: string) => number | undefined {
  return (id) => {
    const foreign = db.row<{ seq: number }>(
      'SELECT seq FROM foreign_lines WHERE session_id = ? AND entry_id = ? ORDER BY seq DESC LIMIT 1',
      row.id,
      id,
    );
    if (foreign !== undefined) return foreign.seq;
    const q = seqForEntryId(id);
    return q === undefined || q < 2 || q > row.q ? undefined : seqOfOwn(q, foreignSeqs(db, row));
  };
}

/** Seqs of foreign lines, ascending; empty for nearly every session. */
export function foreignSeqs(db: Database, { id, seq, q }: SessionRow): number[] {
  if (seq === q) return [];
  return db
    .rows<{ seq: number }>('SELECT seq FROM foreign_lines WHERE session_id = ? ORDER BY seq', id)
    .map((row) => row.seq);
}

/** The seq of our own line number `q`: add the foreign lines that precede it. */
export function seqOfOwn(q: number, foreign: readonly number[]): number {
  let before = 0;
  while (before < foreign.length && (foreign[before] ?? 0) <= q + before) before++;
  return q + before;
}

export function toRecord(db: Database, row: SessionRow): SessionRecord {
  const active = db.row<{ session_id: string }>('SELECT session_id FROM active WHERE key = ?', row.key);
  return recordOf(row, active?.session_id === row.id);
}
