import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { TranscriptProblem } from '../port/stats.ts';
import type { Database } from '../sqlite/database.ts';
import { findSession, type SessionRow } from '../sqlite/session-row.ts';
import type { BatchContext } from '../sqlite/write/batch.ts';
import { type ForeignLock, ForeignLocks } from './foreign-lock.ts';
import { addMark, lastMark, MARK_BYTES } from './marks.ts';
import { transcriptLost } from './recovery/heal.ts';
import { type JournalRow, journalBehind, type Missing, Reconciler } from './recovery/reconcile.ts';
import { changedMeanwhile, sizeOf, syncData, type TranscriptFiles, writeAll } from './transcript-files.ts';

/**
 * `write`: a line is about to be written. `look`: any other operation. `compare`: a read found bytes that differ from
 * the journal.
 */
export type Visit = 'write' | 'look' | 'compare';

/** A journal row that this process has just committed. */
export interface FreshRow extends JournalRow {
  readonly id: string;
}

/** Long enough to combine several commits into one write, short enough for `tail -f`. */
const FOLLOW_WITHIN_MS = 5;
/** If more than this is waiting, the rest is read back from the journal instead of being kept in memory. */
const MAX_FRESH_BYTES = 8 * 1024 * 1024;

/**
 * Appends the journal's lines to the transcript files, like the target of a redo log. The commit has already
 * happened: on any failure here, the lines stay safe and readable in the journal, and the write is retried.
 *
 * The file is synced up to `synced_size`. After that it must match the journal: missing bytes are written, differing
 * ones go to quarantine, and lines that another tool appended are read into the index (I-13).
 */
export class Follower {
  readonly #context: BatchContext;
  readonly #db: Database;
  readonly #files: TranscriptFiles;
  readonly #reconciler: Reconciler;
  readonly #locks: ForeignLocks = new ForeignLocks();
  /** Sessions with lines that their file does not have yet. */
  readonly #behind: Set<string> = new Set();
  /** Sessions whose file has bytes that a power cut could lose. */
  readonly #unsynced: Set<string> = new Set();
  /** Sessions whose unsynced bytes this process has compared with the journal. */
  readonly #compared: Set<string> = new Set();
  /** Sessions that the next batch writes to and whose file is not as recorded. */
  readonly #next: Set<string> = new Set();
  /** Why a session must not be written now. Waiting would not help, so its messages are refused. */
  readonly #obstacles: Map<string, RepriseError> = new Map();
  /** Why a transcript could not be written at the last attempt. */
  readonly #problems: Map<string, TranscriptProblem> = new Map();
  /** Rows that this process committed but has not written to the files, so that they need not be read back. */
  readonly #fresh: Map<string, JournalRow[]> = new Map();
  #freshBytes = 0;
  /** When the oldest waiting line must be in its file. */
  #due = Number.POSITIVE_INFINITY;

  constructor(context: BatchContext, files: TranscriptFiles) {
    this.#context = context;
    this.#db = context.db;
    this.#files = files;
    this.#reconciler = new Reconciler(context, files);
  }

  get hasWork(): boolean {
    return this.#behind.size > 0;
  }

  /** Milliseconds until the files are due; `undefined` if nothing waits. */
  get dueIn(): number | undefined {
    return this.hasWork ? Math.max(0, this.#due - performance.now()) : undefined;
  }

  get problems(): TranscriptProblem[] {
    return [...this.#problems.values()];
  }

  /** The obstacle found by the last `inspect` of this session. */
  obstacle(id: string): RepriseError | undefined {
    return this.#obstacles.get(id);
  }

  /** Marks a file whose content may differ from its row; the next follow compares them. */
  lookInto(id: string): void {
    if (!this.hasWork) this.#due = performance.now() + FOLLOW_WITHIN_MS;
    this.#behind.add(id);
  }

  expect(rows: readonly FreshRow[]): void {
    for (const row of rows) {
      this.lookInto(row.id);
      if (this.#freshBytes > MAX_FRESH_BYTES) continue;
      this.#freshBytes += row.bytes.length;
      const known = this.#fresh.get(row.id);
      if (known === undefined) this.#fresh.set(row.id, [row]);
      else known.push(row);
    }
  }

  /**
   * Checks files that are not as recorded before lines are numbered: lines already in the file come first, no matter who
   * wrote them.
   */
  inspect(visits: ReadonlyMap<SessionRow, Visit>): void {
    const odd: string[] = [];
    for (const [row, visit] of visits) {
      const { id } = row;
      if (row.seq === 0) continue;
      this.#obstacles.delete(id);
      if (visit === 'compare') this.#compared.delete(id);
      if (this.#look(row)) continue;
      odd.push(id);
      if (visit === 'write') this.#next.add(id);
    }
    this.#followThese(odd);
    this.#next.clear();
  }

  /** Whether the file is as recorded. Records an obstacle to writing it. */
  #look(row: SessionRow): boolean {
    const path = this.#files.path(row.agent_id, row.id);
    try {
      const found = this.#files.look(path);
      if (found.kind === 'file' && found.replaced) {
        this.#reconciler.distrust(row.id);
        this.#compared.delete(row.id);
      }
      const isAsRecorded =
        found.kind === 'file' && found.size === row.file_size && this.#compared.has(row.id);
      if (found.kind === 'other') this.#obstacles.set(row.id, notAFile(path, row, found));
      else if (found.kind === 'none' && row.synced_size > 0)
        this.#obstacles.set(row.id, transcriptLost(path, row, 'gone'));
      const lock = this.#locks.holder(path, { now: !isAsRecorded });
      if (lock !== undefined) this.#obstacles.set(row.id, lockHeld(row, lock));
      return isAsRecorded;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
      // The file cannot be checked now. The next write fails in the same way and reports the reason.
      return false;
    }
  }

  /** Takes over files that a dead process did not complete, and lines that another tool left unfinished. */
  adoptLeftovers(): void {
    for (const { session_id } of this.#db.rows<{ session_id: string }>(
      'SELECT DISTINCT session_id FROM journal',
    )) {
      this.lookInto(session_id);
    }
    for (const id of this.#reconciler.waiting) this.lookInto(id);
  }

  /** Updates every file from its journal, inside a transaction. */
  followAll(): void {
    this.#followThese([...this.#behind]);
    this.#fresh.clear();
    this.#freshBytes = 0;
    // Files that failed wait for the sweep, because an immediate retry would fail as well.
    this.#due = performance.now() + FOLLOW_WITHIN_MS;
  }

  #followThese(ids: readonly string[]): void {
    for (const id of ids) {
      const row = findSession(this.#db, id);
      this.#behind.delete(id);
      const fresh = this.#fresh.get(id) ?? [];
      this.#fresh.delete(id);
      // The rebuild handles sessions whose lines were never read; their salvaged journal waits for it.
      if (row === undefined || row.seq === 0) continue;
      try {
        // If the disk fails midway, the changes to the index are rolled back and everything is repeated, so nothing
        // counts twice.
        this.#db.attempt(() => this.#follow({ ...row }, fresh));
        this.#unsynced.add(id);
        this.#problems.delete(id);
      } catch (error) {
        this.#note(row, error);
        // The file's content after its synced part is now unknown, so readers take those lines from the journal.
        this.#db.run(
          'UPDATE sessions SET file_seq = synced_seq, file_size = synced_size WHERE id = ? AND file_seq > synced_seq',
          id,
        );
        this.#again(id);
        this.#files.forget(this.#files.path(row.agent_id, row.id));
      }
    }
  }

  /**
   * Records a full disk, an I/O error or a missing permission: the journal keeps the lines, and the next sweep
   * retries.
   */
  #note(row: SessionRow, error: unknown): void {
    const { syscall, code = '', message } = error as NodeJS.ErrnoException;
    if (error instanceof RepriseError) this.#obstacles.set(row.id, error);
    else if (syscall === undefined) throw error;
    this.#problems.set(row.id, { session: row.id, code, detail: message });
  }

  /**
   * Syncs the written bytes and the folders of new files; their journal rows are deleted only after that. A folder is
   * synced once for all its new files, because each sync of a folder costs as much as a commit.
   */
  sync(): void {
    const synced: SessionRow[] = [];
    for (const id of [...this.#unsynced]) {
      const row = findSession(this.#db, id);
      this.#unsynced.delete(id);
      if (row !== undefined && row.file_seq !== row.synced_seq && this.#syncFile(row)) synced.push(row);
    }
    const isNew = ({ synced_size }: SessionRow): boolean => synced_size === 0;
    const agents = new Set(synced.filter(isNew).map(({ agent_id }) => agent_id));
    for (const agentId of agents) {
      try {
        this.#files.syncFolders(agentId);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
        for (const row of synced.filter(isNew)) if (row.agent_id === agentId) this.#again(row.id);
        agents.delete(agentId);
      }
    }
    for (const row of synced) {
      if (isNew(row) && !agents.has(row.agent_id)) continue;
      this.#db.run(
        'UPDATE sessions SET synced_seq = ?, synced_size = ? WHERE id = ?',
        row.file_seq,
        row.file_size,
        row.id,
      );
      this.#db.run('DELETE FROM journal WHERE session_id = ? AND first_seq <= ?', row.id, row.file_seq);
    }
  }

  /** @returns whether the file at its path now durably contains what was written. If not, it is written again. */
  #syncFile(row: SessionRow): boolean {
    const path = this.#files.path(row.agent_id, row.id);
    try {
      const fd = this.#files.descriptor(path, { create: false });
      syncData(fd);
      const isInPlace = this.#files.isInPlace(path);
      // If another file has taken its place, that file needs the journal.
      if (!isInPlace) this.#reconciler.distrust(row.id);
      // Another program may have cut the file since the write; the journal still has the missing bytes. Lines that
      // another tool added meanwhile follow the synced part and are found there.
      else if (sizeOf(fd) >= row.file_size) return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
      // After a failed sync, the kernel may mark lost pages as clean. Only writing them again makes them dirty.
      this.#reconciler.rewrite(row.id);
    }
    this.#again(row.id);
    return false;
  }

  #again(id: string): void {
    this.#compared.delete(id);
    this.lookInto(id);
  }

  /** Forgets a purged session. If its file cannot be removed now, the next open of the home removes it. */
  forget(row: SessionRow): void {
    const path = this.#files.path(row.agent_id, row.id);
    for (const known of [this.#behind, this.#unsynced, this.#compared, this.#obstacles, this.#problems])
      known.delete(row.id);
    this.#fresh.delete(row.id);
    this.#reconciler.forget(row.id);
    this.#locks.forget(path);
    try {
      this.#files.remove(row.agent_id, row.id);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    }
  }

  #follow(row: SessionRow, fresh: readonly JournalRow[]): void {
    const path = this.#files.path(row.agent_id, row.id);
    const lock = this.#locks.holder(path);
    if (lock !== undefined) throw lockHeld(row, lock);
    // A file with synced lines is never created again: an empty file would look like an empty conversation.
    const fd = this.#files.descriptor(path, { create: row.synced_size === 0 });
    const size = sizeOf(fd);
    if (size === row.file_size && this.#compared.has(row.id)) {
      const isAllFresh = continues(fresh, row.file_seq, row.seq);
      const rows = isAllFresh ? fresh : journalBehind(this.#context, row, row.file_seq);
      const bytes = Buffer.concat(rows.map((each) => each.bytes));
      this.#write(fd, row, rows, { start: size, before: size, missing: { bytes, at: size } });
      return;
    }
    const missing = this.#reconciler.reconcile(fd, row, this.#next.has(row.id));
    if (missing === undefined) return;
    const rows = journalBehind(this.#context, row, row.synced_seq);
    this.#write(fd, row, rows, { start: row.synced_size, before: sizeOf(fd), missing });
  }

  /** `start` is the offset of the first row, which the file may already have in part. */
  #write(
    fd: number,
    row: SessionRow,
    rows: readonly JournalRow[],
    { start, before, missing }: { start: number; before: number; missing: Missing },
  ): void {
    if (before !== missing.at) throw changedMeanwhile();
    writeAll(fd, missing.bytes);
    const end = sizeOf(fd);
    if (end !== before + missing.bytes.length) throw changedMeanwhile();
    this.#compared.add(row.id);
    const lastSeq = rows.at(-1)?.last_seq ?? row.file_seq;
    row.file_seq = Math.max(row.file_seq, lastSeq);
    row.file_size = end;
    this.#db.run('UPDATE sessions SET file_seq = ?, file_size = ? WHERE id = ?', row.file_seq, end, row.id);
    this.#mark(row, rows, start);
  }

  #mark(row: SessionRow, rows: readonly JournalRow[], start: number): void {
    let known = lastMark(this.#db, row.id).offset;
    let offset = start;
    for (const { first_seq, bytes } of rows) {
      if (offset - known >= MARK_BYTES && !this.#hasLaterBefore(row, first_seq)) {
        addMark(this.#db, row.id, { seq: first_seq, offset });
        known = offset;
      }
      offset += bytes.length;
    }
  }

  /** Whether a line of another tool with a higher seq precedes this one; then no mark can be set here. */
  #hasLaterBefore({ id, seq, q }: SessionRow, first: number): boolean {
    if (seq === q) return false;
    return (
      this.#db.row('SELECT 1 FROM foreign_lines WHERE session_id = ? AND seq > ? LIMIT 1', id, first) !==
      undefined
    );
  }
}

/** Whether these rows are complete between two seqs; another process may have written some or added more. */
function continues(rows: readonly JournalRow[], afterSeq: number, lastSeq: number): boolean {
  let seq = afterSeq;
  for (const { first_seq, last_seq } of rows) {
    if (first_seq !== seq + 1) return false;
    seq = last_seq;
  }
  return seq === lastSeq && rows.length > 0;
}

function notAFile(
  file: string,
  { id }: SessionRow,
  { what: kind, code }: { readonly what: 'link' | 'folder' | 'device'; readonly code: string },
): RepriseError {
  return failure(
    'STORE_READ_ONLY',
    'session.notAFile',
    { id, file, kind },
    { details: { id, file, reason: code } },
  );
}

function lockHeld({ id }: SessionRow, { file, pid, createdAt }: ForeignLock): RepriseError {
  return failure(
    'LEASE_HELD',
    'session.foreignLock',
    { id, file, pid: pid ?? null },
    {
      details: { id, file, ...(pid !== undefined && { pid }), ...(createdAt !== undefined && { createdAt }) },
    },
  );
}
