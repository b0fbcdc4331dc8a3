import { RepriseError } from '../../errors.ts';
import type { TranscriptProblem } from '../port/store.ts';
import type { Database } from '../sqlite/database.ts';
import { findSession, type SessionRow } from '../sqlite/session-row.ts';
import type { BatchContext } from '../sqlite/write/batch.ts';
import { type ForeignLock, ForeignLocks } from './foreign-lock.ts';
import { addMark, lastMark, MARK_BYTES } from './marks.ts';
import { transcriptLost } from './recovery/heal.ts';
import { type JournalRow, journalBehind, type Missing, Reconciler } from './recovery/reconcile.ts';
import { changedMeanwhile, sizeOf, syncData, type TranscriptFiles, writeAll } from './transcript-files.ts';

/** Before a write; before anything else; or because somebody has met bytes that are not what was written. */
export type Visit = 'write' | 'look' | 'compare';

/** A row that has just been committed by this process. */
export interface FreshRow extends JournalRow {
  readonly id: string;
}

/** Long enough for several commits to become one write, short enough for `tail -f`. */
const FOLLOW_WITHIN_MS = 5;
/** What is committed faster than this is read back from the journal instead of being remembered. */
const MAX_FRESH_BYTES = 8 * 1024 * 1024;

/**
 * Lets transcript files follow the journal, like the target of a redo log. The commit has happened; whatever goes
 * wrong here leaves the lines safe in the journal, still served, and is tried again.
 *
 * The file up to `synced_size` is settled. Behind it the file must say what the journal says: what is missing
 * is written, what differs goes to quarantine, what another tool appended is taken in (I-13).
 */
export class Follower {
  readonly #context: BatchContext;
  readonly #db: Database;
  readonly #files: TranscriptFiles;
  readonly #reconciler: Reconciler;
  readonly #locks: ForeignLocks = new ForeignLocks();
  /** Sessions with lines their file does not have yet. */
  readonly #behind: Set<string> = new Set();
  /** Sessions whose file has bytes a power cut could take. */
  readonly #unsynced: Set<string> = new Set();
  /** Sessions whose unsettled bytes this process has compared with the journal. */
  readonly #compared: Set<string> = new Set();
  /** Sessions the batch that is about to run writes to, and whose file was not as recorded. */
  readonly #next: Set<string> = new Set();
  /** Why a session must not be written now; waiting would not help, so nobody is told "accepted". */
  readonly #obstacles: Map<string, RepriseError> = new Map();
  /** Why a transcript could not follow when it was tried last. */
  readonly #problems: Map<string, TranscriptProblem> = new Map();
  /** What this process has committed and not followed yet, so that it need not be read back. */
  readonly #fresh: Map<string, JournalRow[]> = new Map();
  #freshBytes = 0;
  /** When the oldest line that waits must be in its file. */
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

  /** Milliseconds until the files have waited long enough; none when nothing waits. */
  get dueIn(): number | undefined {
    return this.hasWork ? Math.max(0, this.#due - performance.now()) : undefined;
  }

  get problems(): TranscriptProblem[] {
    return [...this.#problems.values()];
  }

  /** Known since the last `inspect` of this session. */
  obstacle(id: string): RepriseError | undefined {
    return this.#obstacles.get(id);
  }

  /** A file that may not say what is recorded of it; the next follow compares them. */
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
   * Before lines are numbered, a file that is not as recorded is looked into: what stands there comes first,
   * whoever wrote it.
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

  /** Whether the file is as recorded; notes what stands in the way of writing it. */
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
        this.#obstacles.set(row.id, transcriptLost(path, row, 'is gone'));
      const lock = this.#locks.holder(path, { now: !isAsRecorded });
      if (lock !== undefined) this.#obstacles.set(row.id, lockHeld(row, lock));
      return isAsRecorded;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
      // Nobody can look there now; following will fail in the same way, and then says why.
      return false;
    }
  }

  /** What a dead process left behind is everybody's work, and so is a line another tool left unfinished. */
  adoptLeftovers(): void {
    for (const { session_id } of this.#db.rows<{ session_id: string }>(
      'SELECT DISTINCT session_id FROM journal',
    )) {
      this.lookInto(session_id);
    }
    for (const id of this.#reconciler.waiting) this.lookInto(id);
  }

  /** Inside a transaction: brings every file that is behind up to its journal. */
  followAll(): void {
    this.#followThese([...this.#behind]);
    this.#fresh.clear();
    this.#freshBytes = 0;
    // What could not be followed waits for the sweep; trying at once would only fail at once.
    this.#due = performance.now() + FOLLOW_WITHIN_MS;
  }

  #followThese(ids: readonly string[]): void {
    for (const id of ids) {
      const row = findSession(this.#db, id);
      this.#behind.delete(id);
      const fresh = this.#fresh.get(id) ?? [];
      this.#fresh.delete(id);
      // One whose lines were never read is the rebuild's; what the journal has of it, salvaged, waits for that.
      if (row === undefined || row.seq === 0) continue;
      try {
        // Undone in the index when the disk fails half-way: it is all done again, and nothing counts twice.
        this.#db.attempt(() => this.#follow({ ...row }, fresh));
        this.#unsynced.add(id);
        this.#problems.delete(id);
      } catch (error) {
        this.#note(row, error);
        // Nobody knows what the file holds behind its settled part now: readers take that from the journal.
        this.#db.run(
          'UPDATE sessions SET file_seq = synced_seq, file_size = synced_size WHERE id = ? AND file_seq > synced_seq',
          id,
        );
        this.#again(id);
        this.#files.forget(this.#files.path(row.agent_id, row.id));
      }
    }
  }

  /** Disk full, I/O error, no permission: the journal keeps the lines and the next sweep tries again. */
  #note(row: SessionRow, error: unknown): void {
    const { syscall, code = '', message } = error as NodeJS.ErrnoException;
    if (error instanceof RepriseError) this.#obstacles.set(row.id, error);
    else if (syscall === undefined) throw error;
    this.#problems.set(row.id, { session: row.id, code, detail: message });
  }

  /** Makes followed bytes survive a power cut; only then do their journal rows go. */
  sync(): void {
    for (const id of [...this.#unsynced]) {
      const row = findSession(this.#db, id);
      this.#unsynced.delete(id);
      if (row === undefined || row.file_seq === row.synced_seq) continue;
      try {
        const path = this.#files.path(row.agent_id, id);
        const fd = this.#files.descriptor(path, { create: false });
        syncData(fd);
        if (!this.#files.isInPlace(path)) {
          // What was synced is a file nobody can find any more: the journal is needed for the one that stands there.
          this.#reconciler.distrust(id);
          this.#again(id);
          continue;
        }
        // Somebody cut it since it was followed: the journal still has what is missing. What another tool has added
        // meanwhile stands behind what is settled now, and is met there.
        if (sizeOf(fd) < row.file_size) {
          this.#again(id);
          continue;
        }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
        // The kernel may have dropped the pages and call them clean: only writing them again makes them dirty.
        this.#reconciler.rewrite(id);
        this.#again(id);
        continue;
      }
      this.#db.run(
        'UPDATE sessions SET synced_seq = ?, synced_size = ? WHERE id = ?',
        row.file_seq,
        row.file_size,
        id,
      );
      this.#db.run('DELETE FROM journal WHERE session_id = ? AND first_seq <= ?', id, row.file_seq);
    }
  }

  #again(id: string): void {
    this.#compared.delete(id);
    this.lookInto(id);
  }

  /** For a purged session. A file that cannot be removed now is removed when the home is opened next. */
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
    // A file that had settled lines is never made anew: an empty one would look as if nothing had been said.
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

  /** `start` is where the first of these rows stands, which the file may have in part. */
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

  /** Whether a line of another tool with a higher seq stands before this one: then no mark can be here. */
  #hasLaterBefore({ id, seq, q }: SessionRow, first: number): boolean {
    if (seq === q) return false;
    return (
      this.#db.row('SELECT 1 FROM foreign_lines WHERE session_id = ? AND seq > ? LIMIT 1', id, first) !==
      undefined
    );
  }
}

/** Whether these rows are all there is between two seqs; somebody else may have followed some, or added to them. */
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
  { what, code }: { readonly what: string; readonly code: string },
): RepriseError {
  return new RepriseError('STORE_READ_ONLY', `the transcript of session ${id} is ${what}, not a file`, {
    details: { id, file, reason: code, next: `Move ${file} away; nothing was written through it.` },
  });
}

function lockHeld({ id }: SessionRow, { file, pid, createdAt }: ForeignLock): RepriseError {
  const who = pid === undefined ? 'another tool' : `process ${pid}`;
  return new RepriseError('LEASE_HELD', `${who} has locked session ${id} by ${file}`, {
    details: { id, file, ...(pid !== undefined && { pid }), ...(createdAt !== undefined && { createdAt }) },
  });
}
