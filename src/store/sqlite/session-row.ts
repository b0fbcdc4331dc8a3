import { RepriseError } from '../../errors.ts';
import { seqForEntryId } from '../../transcript/entry-id.ts';
import type { SessionRecord } from '../port/store.ts';
import { unknownSession } from '../rules/refusals.ts';
import { recentOf, recordOf, type SessionState } from '../rules/session-state.ts';
import type { Database } from './database.ts';

/** A row of `sessions`, as SQLite gives and takes it. */
export interface SessionRow extends SessionState {
  file_seq: number;
  file_size: number;
  synced_seq: number;
  synced_size: number;
  /** What the indexes of sorted lists have, and whether it counts more by now (1) or not (0); see listed.ts. */
  listed_messages: number;
  listed_tokens: number;
  grown: number;
}

/** What an append may change and no index holds; the rest is set once or belongs to the transcript file. */
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

/** Ids that differ only in case would be one file on some disks, so only one of them can be taken. */
export function findIgnoringCase(db: Database, id: string): SessionRow | undefined {
  return db.row<SessionRow>('SELECT * FROM sessions WHERE id = ?', id);
}

export function getSession(db: Database, id: string): SessionRow {
  const row = findSession(db, id);
  if (row === undefined) return refuseUnknown(db, id);
  assertRead(row);
  return row;
}

/** One known by its header only: to go on without its lines would be to forget them. */
export function assertRead({ id, seq }: SessionRow): void {
  if (seq > 0) return;
  throw new RepriseError('STORE_BUSY', `the transcript of session ${id} has not been read yet`, {
    details: { id },
  });
}

export function refuseUnknown(db: Database, id: string): never {
  throw unknownSession(id, isPurged(db, id));
}

export function isPurged(db: Database, id: string): boolean {
  return db.row('SELECT 1 FROM purged WHERE id = ?', id) !== undefined;
}

export function saveSession(db: Database, row: SessionRow): void {
  // First, or a trigger would say it once more.
  const isListed = row.message_count === row.listed_messages && row.token_estimate === row.listed_tokens;
  const grown = isListed ? 0 : 1;
  if (grown !== row.grown) {
    row.grown = grown;
    db.run('UPDATE sessions SET grown = ? WHERE id = ?', grown, row.id);
  }
  db.run(UPDATE, ...CHANGEABLE.map((name) => row[name]), row.id);
  // What indexes hold is written only where it changes: SQLite would write to each of them, whatever it was before.
  db.run('UPDATE sessions SET status = ? WHERE id = ? AND status <> ?', row.status, row.id, row.status);
  const recent = recentOf(row.last_at);
  if (recent !== row.recent) {
    row.recent = recent;
    db.run('UPDATE sessions SET recent = ? WHERE id = ?', recent, row.id);
  }
}

/** Our ids are their line's number in disguise; only lines of other tools need a look into a table. */
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

/** The seq of our own line `q`: one more for every foreign line that was known before it. */
export function seqOfOwn(q: number, foreign: readonly number[]): number {
  let before = 0;
  while (before < foreign.length && (foreign[before] ?? 0) <= q + before) before++;
  return q + before;
}

export function toRecord(db: Database, row: SessionRow): SessionRecord {
  const active = db.row<{ session_id: string }>('SELECT session_id FROM active WHERE key = ?', row.key);
  return recordOf(row, active?.session_id === row.id);
}
