import { adoptLines } from './adopt.ts';
import type { Database } from './database.ts';
import { addMark, lastMark, MARK_BYTES } from './marks.ts';
import { findSession, type SessionRow } from './session-row.ts';
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

const LF = 10;

interface Compared {
  readonly missing: Buffer;
  /** Size of the file as far as it has been looked at. */
  readonly known: number;
}

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

  constructor(db: Database, files: TranscriptFiles) {
    this.#db = db;
    this.#files = files;
  }

  get hasWork(): boolean {
    return this.#behind.size > 0;
  }

  expect(ids: readonly string[]): void {
    for (const id of ids) this.#behind.add(id);
  }

  /**
   * Before lines are numbered, a file that is not as recorded is looked into: what stands there comes first,
   * whoever wrote it.
   */
  inspect(ids: Iterable<string>): void {
    for (const id of ids) {
      const row = findSession(this.#db, id);
      if (row === undefined) continue;
      const isAsRecorded = this.#compared.has(id) && this.#files.size(row.agent_id, row.id) === row.file_size;
      if (!isAsRecorded) this.#behind.add(row.id);
    }
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
    for (const id of [...this.#behind]) {
      const row = findSession(this.#db, id);
      this.#behind.delete(id);
      if (row === undefined) continue;
      try {
        // Undone in the index when the disk fails half-way: it is all done again, and nothing counts twice.
        this.#db.attempt(() => this.#follow({ ...row }));
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
    this.#unsynced.delete(row.id);
    this.#files.remove(this.#files.path(row.agent_id, row.id));
  }

  // Rows are followed and settled whole, or split where they are not, so `first_seq` alone finds them by its index.
  #follow(row: SessionRow): void {
    const fd = this.#files.descriptor(this.#files.path(row.agent_id, row.id));
    const size = sizeOf(fd);
    const isAsRecorded = size === row.file_size && this.#compared.has(row.id);
    const from = isAsRecorded ? row.file_seq : row.synced_seq;
    const rows = this.#db.rows<JournalRow>(
      'SELECT first_seq, last_seq, bytes FROM journal WHERE session_id = ? AND first_seq > ? ORDER BY first_seq',
      row.id,
      from,
    );
    const expected = Buffer.concat(rows.map(({ bytes }) => bytes));
    const start = isAsRecorded ? row.file_size : row.synced_size;
    const compared = isAsRecorded
      ? { missing: expected, known: size }
      : this.#reconcile(fd, row, expected, size);
    if (compared === undefined) return;
    const { missing, known } = compared;
    if (sizeOf(fd) !== known) throw changedMeanwhile();
    writeAll(fd, missing);
    const end = sizeOf(fd);
    if (end !== known + missing.length) throw changedMeanwhile();
    this.#compared.add(row.id);
    const lastSeq = rows.at(-1)?.last_seq ?? row.file_seq;
    row.file_seq = Math.max(row.file_seq, lastSeq);
    row.file_size = end;
    this.#db.run('UPDATE sessions SET file_seq = ?, file_size = ? WHERE id = ?', row.file_seq, end, row.id);
    this.#mark(row, rows, Math.max(start, end - expected.length));
  }

  /** Compares the unsettled part of the file with the journal; answers what still has to be written, and where. */
  #reconcile(fd: number, row: SessionRow, expected: Buffer, size: number): Compared | undefined {
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
    if (common === actual.length) return { missing: expected.subarray(common), known: size };
    // Lines begin alike; what counts is where the last whole line of ours ends.
    const same = expected.subarray(0, common).lastIndexOf(LF) + 1;
    this.#takeIn(fd, row, { same, size, isAhead: same === expected.length });
    return { missing: expected.subarray(same), known: row.file_size };
  }

  /**
   * Behind what the journal knows stand lines it does not: of another tool, or ours from an index that is gone.
   * They are settled at once, with all of ours before them, so that the journal never has to hold them.
   */
  #takeIn(
    fd: number,
    row: SessionRow,
    { same, size, isAhead }: { readonly same: number; readonly size: number; readonly isAhead: boolean },
  ): void {
    const from = row.synced_size + same;
    // What stood here when a mark was made may have been lost and written again further back.
    this.#db.run('DELETE FROM marks WHERE session_id = ? AND offset >= ?', row.id, from);
    const { end, corruptAt } = adoptLines(this.#db, row, fd, { from, to: size, marks: isAhead });
    // Whoever else appends may do so at any moment: what came after the look is not settled, and never cut off.
    if (sizeOf(fd) !== size) throw changedMeanwhile();
    if (end < size) this.#setAside(fd, row, end, size);
    if (end > from) endLine(fd);
    const settled = sizeOf(fd);
    if (settled > end + 1) throw changedMeanwhile();
    if (corruptAt !== undefined)
      this.#db.run('UPDATE sessions SET corrupt_at = ? WHERE id = ?', corruptAt, row.id);
    // Synced before a journal row goes: if this fails, all of it is done again.
    syncData(fd);
    this.#settle(row, same);
    row.synced_size = settled;
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
    const rows = this.#db.rows<JournalRow>(
      'SELECT first_seq, last_seq, bytes FROM journal WHERE session_id = ? AND first_seq > ? ORDER BY first_seq',
      row.id,
      row.synced_seq,
    );
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
