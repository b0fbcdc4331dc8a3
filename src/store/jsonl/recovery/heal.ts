import type { RepriseError } from '../../../errors.ts';
import { failure } from '../../../messages/failure.ts';
import type { LostTranscript } from '../../../messages/params/params-stores.ts';
import { decodeLine } from '../../../transcript/line.ts';
import type { NewEntry } from '../../port/store.ts';
import { EPOCH_JUMP } from '../../rules/epoch-jump.ts';
import type { Database } from '../../sqlite/database.ts';
import { foreignSeqs, type SessionRow, saveSession, seqOfOwn } from '../../sqlite/session-row.ts';
import { writeEntries } from '../../sqlite/write/append.ts';
import { Batch, type BatchContext } from '../../sqlite/write/batch.ts';
import { headerProblem } from '../file-header.ts';
import {
  changedMeanwhile,
  endLine,
  readRange,
  sizeOf,
  syncData,
  type TranscriptFiles,
  truncate,
} from '../transcript-files.ts';
import { adoptLines, createAdopter, leaveKeyIfDeleted } from './adopt.ts';

const LF = 10;

/**
 * Reads a transcript again from its start after another program cut or replaced it; the history rule decides which
 * lines count (I-4). Journal rows that continue the file are written again. A `reprise.lost` entry names the lost
 * lines, and the epoch jumps, so that lost lines that reappear are not mistaken for newer ones.
 * @returns false if the file is damaged in the middle: the session becomes read-only, and nothing else was changed.
 */
export function healTranscript(
  context: BatchContext,
  files: TranscriptFiles,
  row: SessionRow,
  fd: number,
): boolean {
  const draft = { ...row };
  try {
    context.db.attempt(() => heal(context, files, draft, fd));
  } catch (error) {
    if (!(error instanceof DamagedInside)) throw error;
    context.db.run('UPDATE sessions SET corrupt_at = ? WHERE id = ?', error.offset, row.id);
    return false;
  }
  Object.assign(row, draft);
  return true;
}

function heal(context: BatchContext, files: TranscriptFiles, row: SessionRow, fd: number): void {
  const { db } = context;
  const size = sizeOf(fd);
  const before = { ...row };
  const foreign = foreignSeqs(db, row);
  const journal = db.rows<{ bytes: Uint8Array }>(
    'SELECT bytes FROM journal WHERE session_id = ? ORDER BY first_seq',
    row.id,
  );
  forgetLines(db, row);
  const { end, corruptAt } = adoptLines(db, row, fd, 0, size);
  if (corruptAt !== undefined) throw new DamagedInside(corruptAt);
  const kept: string[] = [];
  if (end < size) {
    kept.push(files.quarantine(`${row.id}.jsonl@${end}`, readRange(fd, end, size)));
    truncate(fd, end);
  }
  endLine(fd);
  const settled = sizeOf(fd);
  if (settled !== end && settled !== end + 1) throw changedMeanwhile();
  syncData(fd);
  if (before.synced_size === 0) files.syncFolders(row.agent_id);
  const inFile = row.seq;
  const rest = continuation(Buffer.concat(journal.map(({ bytes }) => bytes)), row.q);
  const putBack = rest.continues ? rest.bytes : Buffer.alloc(0);
  if (!rest.continues && rest.bytes.length > 0)
    kept.push(files.quarantine(`${row.id}.jsonl@journal`, rest.bytes));
  const adopter = createAdopter(db, row, { from: settled });
  adopter.pushJournal(putBack);
  adopter.finish();
  leaveKeyIfDeleted(db, row);
  if (putBack.length > 0)
    db.run('INSERT INTO journal VALUES (?, ?, ?, ?)', row.id, inFile + 1, row.seq, putBack);
  row.epoch = Math.max(row.epoch, before.epoch);
  Object.assign(row, { file_seq: inFile, synced_seq: inFile, file_size: settled, synced_size: settled });
  db.run(
    'UPDATE sessions SET file_seq = ?, synced_seq = ?, file_size = ?, synced_size = ? WHERE id = ?',
    inFile,
    inFile,
    settled,
    settled,
    row.id,
  );
  saveSession(db, row);
  const firstLost = row.q < before.q ? seqOfOwn(row.q + 1, foreign) : row.seq + 1;
  if (firstLost <= before.seq) tell(context, row, before, { firstLost, kept });
}

/** Resets everything in and around a row that is derived from its lines. */
function forgetLines(db: Database, row: SessionRow): void {
  for (const table of ['journal', 'append_keys', 'marks', 'foreign_lines', 'skipped_lines'])
    db.run(`DELETE FROM ${table} WHERE session_id = ?`, row.id);
  Object.assign(row, {
    title: '',
    label: null,
    status: 'open',
    last_at: row.created_at,
    message_count: 0,
    turn_count: 0,
    token_estimate: 0,
    settings: '{}',
    seq: 0,
    q: 0,
    leaf: null,
    epoch: 0,
    context_seq: 1,
    context_compaction: 0,
  } satisfies Partial<SessionRow>);
}

/** Lines of the journal that the file does not have. They continue the file if the first one has the next number. */
function continuation(journal: Buffer, q: number): { bytes: Buffer; continues: boolean } {
  for (let at = 0; at < journal.length; at = journal.indexOf(LF, at) + 1) {
    const line = decodeLine(journal.subarray(at, journal.indexOf(LF, at)));
    const number = line.kind === 'record' && typeof line.seal === 'object' ? line.seal.q : 0;
    if (number > q) return { bytes: journal.subarray(at), continues: number === q + 1 };
  }
  return { bytes: Buffer.alloc(0), continues: true };
}

/** Records the loss in the transcript, so that every reader and every rebuild sees it. */
function tell(
  context: BatchContext,
  row: SessionRow,
  before: SessionRow,
  { firstLost, kept }: { readonly firstLost: number; readonly kept: readonly string[] },
): void {
  const { db } = context;
  // The cached row is from before the loss.
  context.rows.forget(row.id);
  const batch = new Batch(context);
  row.epoch += EPOCH_JUMP;
  saveSession(db, row);
  // A runner that built on lost lines is fenced; its next heartbeat reports it.
  db.run('DELETE FROM leases WHERE session_id = ?', row.id);
  const active = db.row<{ counter: number }>(
    'SELECT counter FROM active WHERE key = ? AND session_id = ?',
    row.key,
    row.id,
  );
  const data = {
    firstSeq: firstLost,
    lastSeq: before.seq,
    reason: 'cut from outside',
    ...(kept.length > 0 && { quarantine: kept }),
  };
  const entries: NewEntry[] = [custom('reprise.lost', data)];
  // Repeat facts that only the index still has: a loss must not restore a deleted session.
  if (before.status === 'deleted' && row.status !== 'deleted') entries.push(custom('reprise.deleted'));
  if (active !== undefined)
    entries.push(custom('reprise.activate', { key: row.key, counter: active.counter }));
  const draft = batch.session(row.id);
  writeEntries(batch, draft, entries);
  batch.flush();
  Object.assign(row, draft);
}

function custom(customType: string, data?: object): NewEntry {
  return { type: 'custom', customType, ...(data !== undefined && { data }) };
}

/**
 * Refuses to continue a file that lost its header or belongs to another session, because that would silently start a
 * new conversation.
 */
export function assertHeader(files: TranscriptFiles, row: SessionRow, fd: number): void {
  const problem = sizeOf(fd) === 0 ? 'empty' : headerProblem(fd, row.id);
  if (problem !== undefined) throw transcriptLost(files.path(row.agent_id, row.id), row, problem);
}

/** The error for a session whose synced lines no longer exist. The session recovers when the file is put back. */
export function transcriptLost(
  file: string,
  { id, file_seq }: SessionRow,
  problem: LostTranscript,
): RepriseError {
  return failure(
    'STORE_CORRUPT',
    'session.lostTranscript',
    { id, file, problem },
    { details: { id, offset: 0, file, lines: file_seq }, outcome: 'none' },
  );
}

/** Thrown to undo a repair that has begun: damage in the middle of a file cannot be repaired in place. */
class DamagedInside extends Error {
  readonly offset: number;

  constructor(offset: number) {
    super(`damaged at byte ${offset}`);
    this.offset = offset;
  }
}
