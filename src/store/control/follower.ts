import { adoptLines, EPOCH_JUMP } from './adopt.ts';
import type { Database } from './database.ts';
import { findSession, type SessionRow, saveSession } from './session-row.ts';
import {
  endLine,
  readRange,
  sizeOf,
  syncData,
  type TranscriptFiles,
  truncate,
  writeAll,
} from './transcript-files.ts';

interface JournalRow {
  readonly first_seq: number;
  readonly last_seq: number;
  readonly bytes: Uint8Array;
}

/** A row that has just been committed by this process. */
export interface FreshRow extends JournalRow {
  readonly id: string;
}

const MARK_BYTES = 64 * 1024;
/** Long enough for several commits to become one write, short enough for `tail -f`. */
const FOLLOW_WITHIN_MS = 5;
/** What is committed faster than this is read back from the journal instead of being remembered. */
const MAX_FRESH_BYTES = 8 * 1024 * 1024;
const LF = 10;

/**
 * Lets transcript files follow the journal, like the target of a redo log. The commit has happened; whatever goes
 * wrong here leaves the lines safe in the journal, still served, and is tried again.
 *
 * The file up to `synced_size` is settled. Behind it the file must say what the journal says: what is missing
 * is written, what differs goes to quarantine, what another tool appended is taken in (I-13).
 */
export class Follower {
  readonly #db: Database;
  readonly #files: TranscriptFiles;
  /** Sessions with lines their file does not have yet. */
  readonly #behind: Set<string> = new Set();
  /** Sessions whose file has bytes a power cut could take. */
  readonly #unsynced: Set<string> = new Set();
  /** Sessions whose unsettled bytes this process has compared with the journal. */
  readonly #compared: Set<string> = new Set();

  /** Sessions whose fdatasync failed: what the file seems to hold may be in memory only. */
  readonly #rewrite: Set<string> = new Set();
  /** What this process has committed and not followed yet, so that it need not be read back. */
  readonly #fresh: Map<string, JournalRow[]> = new Map();
  #freshBytes = 0;
  /** When the oldest line that waits must be in its file. */
  #due = Number.POSITIVE_INFINITY;

  constructor(db: Database, files: TranscriptFiles) {
    this.#db = db;
    this.#files = files;
  }

  get hasWork(): boolean {
    return this.#behind.size > 0;
  }

  /** Milliseconds until the files have waited long enough; none when nothing waits. */
  get dueIn(): number | undefined {
    return this.hasWork ? Math.max(0, this.#due - performance.now()) : undefined;
  }

  /** A file that may not say what is recorded of it; the next follow compares them. */
  lookInto(id: string): void {
    if (!this.hasWork) this.#due = performance.now() + FOLLOW_WITHIN_MS;
    this.#behind.add(id);
  }

  expect(rows: readonly FreshRow[]): void {
    if (!this.hasWork) this.#due = performance.now() + FOLLOW_WITHIN_MS;
    for (const row of rows) {
      this.#behind.add(row.id);
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
  inspect(rows: Iterable<SessionRow>): void {
    const odd: string[] = [];
    for (const row of rows) {
      const { id } = row;
      if (row.seq === 0) continue;
      const isAsRecorded = this.#compared.has(id) && this.#files.size(row.agent_id, id) === row.file_size;
      if (!isAsRecorded) odd.push(id);
    }
    this.#followThese(odd);
  }

  /** What a dead process left behind is everybody's work. */
  adoptLeftovers(): void {
    for (const { session_id } of this.#db.rows<{ session_id: string }>(
      'SELECT DISTINCT session_id FROM journal',
    )) {
      this.#behind.add(session_id);
    }
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
      } catch (error) {
        // Disk full, I/O error, no permission: the journal keeps the lines and the next sweep tries again.
        if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
        this.#behind.add(id);
        this.#compared.delete(id);
        this.#files.forget(this.#files.path(row.agent_id, row.id));
      }
    }
  }

  /** Makes followed bytes survive a power cut; only then do their journal rows go. */
  sync(): void {
    for (const id of [...this.#unsynced]) {
      const row = findSession(this.#db, id);
      this.#unsynced.delete(id);
      if (row === undefined || row.file_seq === row.synced_seq) continue;
      try {
        syncData(this.#files.descriptor(this.#files.path(row.agent_id, id)));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
        // The kernel may have dropped the pages and call them clean: only writing them again makes them dirty.
        this.#rewrite.add(id);
        this.#compared.delete(id);
        this.#behind.add(id);
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

  forget(row: SessionRow): void {
    this.#behind.delete(row.id);
    this.#fresh.delete(row.id);
    this.#unsynced.delete(row.id);
    try {
      this.#files.remove(row.agent_id, row.id);
    } catch (error) {
      // The purge is committed; what could not be removed goes when the home is next opened.
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    }
  }

  // Rows are followed and settled whole, or split where they are not, so `first_seq` alone finds them by its index.
  #follow(row: SessionRow, fresh: readonly JournalRow[]): void {
    const fd = this.#files.descriptor(this.#files.path(row.agent_id, row.id));
    const size = sizeOf(fd);
    const isAsRecorded = size === row.file_size && this.#compared.has(row.id);
    const isAllFresh = isAsRecorded && continues(fresh, row.file_seq, row.seq);
    const rows = isAllFresh ? fresh : this.#journal(row.id, isAsRecorded ? row.file_seq : row.synced_seq);
    const expected = Buffer.concat(rows.map(({ bytes }) => bytes));
    const start = isAsRecorded ? row.file_size : row.synced_size;
    const missing = isAsRecorded ? expected : this.#reconcile(fd, row, expected, size);
    if (missing === undefined) return;
    const before = isAsRecorded ? size : sizeOf(fd);
    writeAll(fd, missing);
    const end = sizeOf(fd);
    if (end !== before + missing.length) throw changedMeanwhile();
    this.#compared.add(row.id);
    const lastSeq = rows.at(-1)?.last_seq ?? row.file_seq;
    row.file_seq = Math.max(row.file_seq, lastSeq);
    row.file_size = end;
    this.#db.run('UPDATE sessions SET file_seq = ?, file_size = ? WHERE id = ?', row.file_seq, end, row.id);
    this.#mark(row, rows, Math.max(start, end - expected.length));
  }

  #journal(id: string, afterSeq: number): JournalRow[] {
    return this.#db.rows<JournalRow>(
      'SELECT first_seq, last_seq, bytes FROM journal WHERE session_id = ? AND first_seq > ? ORDER BY first_seq',
      id,
      afterSeq,
    );
  }

  /** Compares the unsettled part of the file with the journal; answers what still has to be written. */
  #reconcile(fd: number, row: SessionRow, expected: Buffer, size: number): Buffer | undefined {
    if (size < row.synced_size) {
      // Cut from outside below what was settled: the journal cannot help any more.
      this.#db.run('UPDATE sessions SET corrupt_at = ? WHERE id = ?', size, row.id);
      return undefined;
    }
    const actual = readRange(fd, row.synced_size, size);
    const common = commonPrefix(actual, expected);
    if (this.#rewrite.has(row.id)) {
      this.#files.writeInPlace(row.agent_id, row.id, row.synced_size, expected.subarray(0, common));
      this.#rewrite.delete(row.id);
    }
    if (common === actual.length) return expected.subarray(common);
    // Lines begin alike; what counts is where the last whole line of ours ends.
    const same = expected.subarray(0, common).lastIndexOf(LF) + 1;
    this.#takeIn(fd, row, same, size);
    return expected.subarray(same);
  }

  /**
   * Behind what the journal knows stand lines it does not: of another tool, or ours from an index that is gone.
   * They are settled at once, with all of ours before them, so that the journal never has to hold them.
   */
  #takeIn(fd: number, row: SessionRow, same: number, size: number): void {
    const from = row.synced_size + same;
    const known = row.q;
    const { end, corruptAt } = adoptLines(this.#db, row, fd, from, size);
    if (row.q > known) {
      // Our own lines, and the index does not know them: it is older than the file, and so are its epochs.
      row.epoch += EPOCH_JUMP;
      saveSession(this.#db, row);
    }
    if (end < size) this.#setAside(fd, row, end, size);
    if (end > from) endLine(fd);
    if (corruptAt !== undefined)
      this.#db.run('UPDATE sessions SET corrupt_at = ? WHERE id = ?', corruptAt, row.id);
    // Synced before a journal row goes: if this fails, all of it is done again.
    syncData(fd);
    this.#settle(row, same);
    row.synced_size = sizeOf(fd);
    row.file_size = row.synced_size;
    this.#db.run(
      'UPDATE sessions SET synced_seq = ?, synced_size = ?, file_seq = ?, file_size = ? WHERE id = ?',
      row.synced_seq,
      row.synced_size,
      row.file_seq,
      row.file_size,
      row.id,
    );
  }

  /** The first `length` bytes of the unsettled journal, whole lines, are settled: their rows go, one may be split. */
  #settle(row: SessionRow, length: number): void {
    const rows = this.#journal(row.id, row.synced_seq);
    let left = length;
    for (const { first_seq, last_seq, bytes } of rows) {
      if (left <= 0) break;
      this.#db.run('DELETE FROM journal WHERE session_id = ? AND first_seq = ?', row.id, first_seq);
      row.synced_seq = last_seq;
      if (left < bytes.length) {
        const lines = bytes.subarray(0, left).filter((byte) => byte === LF).length;
        row.synced_seq = first_seq + lines - 1;
        this.#db.run(
          'INSERT INTO journal VALUES (?, ?, ?, ?)',
          row.id,
          first_seq + lines,
          last_seq,
          bytes.subarray(left),
        );
      }
      left -= bytes.length;
    }
    row.file_seq = Math.max(row.file_seq, row.synced_seq);
  }

  #setAside(fd: number, row: SessionRow, from: number, size: number): void {
    this.#files.quarantine(`${row.id}.jsonl@${from}`, readRange(fd, from, size));
    truncate(fd, from);
  }

  #mark(row: SessionRow, rows: readonly JournalRow[], start: number): void {
    const last = this.#db.row<{ offset: number }>(
      'SELECT offset FROM marks WHERE session_id = ? ORDER BY seq DESC LIMIT 1',
      row.id,
    );
    let known = last?.offset ?? 0;
    let offset = start;
    for (const { first_seq, bytes } of rows) {
      if (offset - known >= MARK_BYTES) {
        this.#db.run('INSERT OR IGNORE INTO marks VALUES (?, ?, ?)', row.id, first_seq, offset);
        known = offset;
      }
      offset += bytes.length;
    }
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

/** Somebody cut or wrote the file between two looks: nothing is recorded, and the next try compares every byte. */
function changedMeanwhile(): Error {
  return Object.assign(new Error('the transcript changed while it was written'), {
    code: 'EAGAIN',
    syscall: 'write',
  });
}

function commonPrefix(a: Buffer, b: Buffer): number {
  const length = Math.min(a.length, b.length);
  if (a.subarray(0, length).equals(b.subarray(0, length))) return length;
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (a.subarray(0, middle).equals(b.subarray(0, middle))) low = middle;
    else high = middle - 1;
  }
  return low;
}
