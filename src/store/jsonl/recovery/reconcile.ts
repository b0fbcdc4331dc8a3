import { EPOCH_JUMP } from '../../rules/epoch-jump.ts';
import { type SessionRow, saveSession } from '../../sqlite/session-row.ts';
import type { BatchContext } from '../../sqlite/write/batch.ts';
import { fragmentKind } from '../fragment.ts';
import {
  changedMeanwhile,
  readRange,
  sizeOf,
  syncData,
  type TranscriptFiles,
  truncate,
  writeAll,
} from '../transcript-files.ts';
import { adoptLines, leaveKeyIfDeleted, skipLine } from './adopt.ts';
import { assertHeader, healTranscript } from './heal.ts';

export interface JournalRow {
  readonly first_seq: number;
  readonly last_seq: number;
  readonly bytes: Uint8Array;
}

/** The bytes that the file lacks, and the offset at which to write them. */
export interface Missing {
  readonly bytes: Buffer;
  readonly at: number;
}

const LF = 10;
/** A last line of another tool that has not grown for this long counts as finished. */
const FRAGMENT_MS = 2000;

/**
 * Compares a transcript that is not as recorded with the journal, and prepares it so that only the journal's lines
 * are left to write (I-13). Lines of others are accepted into the index, left alone, or moved to quarantine; no bytes
 * are deleted.
 */
export class Reconciler {
  readonly #context: BatchContext;
  readonly #files: TranscriptFiles;
  /** Sessions whose fdatasync failed: what the file seems to contain may exist only in memory. */
  readonly #rewrite: Set<string> = new Set();
  /** Sessions whose file was replaced: even its synced part is unknown. */
  readonly #distrusted: Set<string> = new Set();
  /** Last lines without LF that are left alone, and since when their size has not changed. */
  readonly #fragments: Map<string, { readonly size: number; readonly since: number }> = new Map();

  constructor(context: BatchContext, files: TranscriptFiles) {
    this.#context = context;
    this.#files = files;
  }

  rewrite(id: string): void {
    this.#rewrite.add(id);
  }

  distrust(id: string): void {
    this.#distrusted.add(id);
  }

  /** Sessions that must be checked again although their file has all of our lines. */
  get waiting(): Iterable<string> {
    return this.#fragments.keys();
  }

  forget(id: string): void {
    this.#rewrite.delete(id);
    this.#distrusted.delete(id);
    this.#fragments.delete(id);
  }

  /**
   * Returns what to append now, or `undefined` if the file must be left unchanged. `isNext`: one of our lines is
   * about to get its number, so complete lines in the file come first, as they do in the file.
   */
  reconcile(fd: number, row: SessionRow, isNext: boolean): Missing | undefined {
    const size = sizeOf(fd);
    if (row.synced_size > 0 && row.corrupt_at === null) assertHeader(this.#files, row, fd);
    if (size < row.synced_size || this.#distrusted.has(row.id)) {
      if (row.corrupt_at !== null) return undefined;
      if (!healTranscript(this.#context, this.#files, row, fd)) return undefined;
      this.#distrusted.delete(row.id);
      return { bytes: this.#expected(row), at: row.synced_size };
    }
    const expected = this.#expected(row);
    const actual = readRange(fd, row.synced_size, size);
    const common = commonPrefix(actual, expected);
    if (this.#rewrite.has(row.id)) {
      this.#files.writeInPlace(row.agent_id, row.id, row.synced_size, expected.subarray(0, common));
      this.#rewrite.delete(row.id);
    }
    const isHeaded = row.synced_size > 0 || common > expected.indexOf(LF);
    if (common < actual.length && isHeaded) {
      // The bytes at a mark may have been lost and written again elsewhere.
      const same = row.synced_size + expected.subarray(0, common).lastIndexOf(LF) + 1;
      this.#context.db.run('DELETE FROM marks WHERE session_id = ? AND offset >= ?', row.id, same);
      return this.#takeIn(fd, row, { expected, actual, isNext });
    }
    this.#fragments.delete(row.id);
    if (common < actual.length) {
      // No file of this session begins like that, and a rebuild could not recognize it without its header.
      this.#setAside(fd, row, 0, size);
      return { bytes: expected, at: 0 };
    }
    return { bytes: expected.subarray(common), at: size };
  }

  #expected(row: SessionRow): Buffer {
    return Buffer.concat(journalBehind(this.#context, row, row.synced_seq).map(({ bytes }) => bytes));
  }

  /**
   * Accepts lines after the journal's lines that the index does not know: lines of another tool, or our own from an
   * index that no longer exists. They are synced at once, with all of our lines before them, so the journal never has
   * to hold them.
   */
  #takeIn(
    fd: number,
    row: SessionRow,
    { expected, actual, isNext }: { expected: Buffer; actual: Buffer; isNext: boolean },
  ): Missing | undefined {
    const { db } = this.#context;
    const from = row.synced_size;
    const size = from + actual.length;
    const known = row.q;
    const found = adoptLines(db, row, fd, from, size, { ours: expected, leaveTail: true });
    const missing = expected.subarray(found.matched);
    const tail = actual.subarray(actual.lastIndexOf(LF) + 1);
    let { end, corruptAt } = found;
    let begun = 0;
    if (end + tail.length === size && missing.subarray(0, tail.length).equals(tail)) {
      // Our own interrupted write, after a line of another tool.
      begun = tail.length;
      this.#fragments.delete(row.id);
    } else {
      const isDue = missing.length > 0 || this.#isSettled(row.id, size);
      const kind = tail.length === 0 ? 'garbage' : fragmentKind(tail);
      if (kind === 'half' && missing.length > 0) end = this.#close(fd, row, end, size);
      else if (kind === 'whole' && (isDue || isNext)) {
        ({ end, corruptAt = found.corruptAt } = adoptLines(db, row, fd, end, size));
        if (end < size) this.#setAside(fd, row, end, size);
        else end = this.#endLine(fd, row, size);
      } else if (kind === 'garbage' || isDue) {
        if (end < size) this.#setAside(fd, row, end, size);
      } else this.#leave(row.id, size);
    }
    if (row.q > known) {
      // Our own lines that the index does not know: the index is older than the file, and so are its epochs.
      row.epoch += EPOCH_JUMP;
      saveSession(db, row);
    }
    leaveKeyIfDeleted(db, row);
    if (corruptAt !== undefined) db.run('UPDATE sessions SET corrupt_at = ? WHERE id = ?', corruptAt, row.id);
    // Sync before a journal row is deleted; if the sync fails, everything is repeated.
    if (end > from) syncData(fd);
    if (end > 0 && from === 0) this.#files.syncFolders(row.agent_id);
    this.#settle(row, found.matched);
    // The file has all known lines.
    if (missing.length === 0) Object.assign(row, { file_seq: row.seq, synced_seq: row.seq });
    row.synced_size = end;
    row.file_size = end;
    db.run(
      'UPDATE sessions SET synced_seq = ?, synced_size = ?, file_seq = ?, file_size = ? WHERE id = ?',
      row.synced_seq,
      row.synced_size,
      row.file_seq,
      row.file_size,
      row.id,
    );
    if (this.#fragments.has(row.id)) return undefined;
    return { bytes: missing.subarray(begun), at: end + begun };
  }

  /** We have to write, so an unfinished line gets its LF here and stays in place without a number. */
  #close(fd: number, row: SessionRow, from: number, size: number): number {
    const bytes = readRange(fd, from, size);
    for (let at = 0; at !== -1; at = nextLine(bytes, at)) skipLine(this.#context.db, row, from + at);
    return this.#endLine(fd, row, size);
  }

  #endLine(fd: number, row: SessionRow, size: number): number {
    writeAll(fd, Buffer.from('\n'));
    if (sizeOf(fd) !== size + 1) throw changedMeanwhile();
    this.#fragments.delete(row.id);
    return size + 1;
  }

  #leave(id: string, size: number): void {
    if (this.#fragments.get(id)?.size !== size) this.#fragments.set(id, { size, since: performance.now() });
  }

  #isSettled(id: string, size: number): boolean {
    const seen = this.#fragments.get(id);
    return seen?.size === size && performance.now() - seen.since >= FRAGMENT_MS;
  }

  #setAside(fd: number, row: SessionRow, from: number, size: number): void {
    // Another program may append at any moment. Never cut off bytes that arrived after the check.
    if (sizeOf(fd) !== size) throw changedMeanwhile();
    this.#files.quarantine(`${row.id}.jsonl@${from}`, readRange(fd, from, size));
    truncate(fd, from);
    this.#fragments.delete(row.id);
  }

  /**
   * Marks the first `length` bytes of the unsynced journal (whole lines) as synced: deletes their rows and splits one
   * if needed.
   */
  #settle(row: SessionRow, length: number): void {
    const { db } = this.#context;
    let left = length;
    for (const { first_seq, last_seq, bytes } of journalBehind(this.#context, row, row.synced_seq)) {
      if (left <= 0) break;
      db.run('DELETE FROM journal WHERE session_id = ? AND first_seq = ?', row.id, first_seq);
      row.synced_seq = last_seq;
      if (left < bytes.length) {
        const lines = bytes.subarray(0, left).filter((byte) => byte === LF).length;
        row.synced_seq = first_seq + lines - 1;
        db.run(
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
}

/**
 * Journal rows after a seq. Rows are written and synced whole, or split, so `first_seq` alone finds them by its
 * index.
 */
export function journalBehind({ db }: BatchContext, { id }: SessionRow, seq: number): JournalRow[] {
  return db.rows<JournalRow>(
    'SELECT first_seq, last_seq, bytes FROM journal WHERE session_id = ? AND first_seq > ? ORDER BY first_seq',
    id,
    seq,
  );
}

function nextLine(bytes: Buffer, at: number): number {
  const lf = bytes.indexOf(LF, at);
  return lf === -1 ? -1 : lf + 1;
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
