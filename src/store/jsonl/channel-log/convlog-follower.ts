import { closeSync, fstatSync } from 'node:fs';
import { DEFAULT_RECORD_LIMITS } from '../../../transcript/limits.ts';
import { createLineSplitter } from '../../../transcript/split-lines.ts';
import { encodeLogLine, type LineRow, toLine } from '../../rules/convlog-line.ts';
import type { Database } from '../../sqlite/database.ts';
import { changedMeanwhile, readRange, sizeOf, writeAll } from '../transcript-files.ts';
import type { ConvlogFiles } from './convlog-files.ts';
import { type ChatRow, OF_CHAT, valuesOf } from './convlog-rows.ts';

/** Bytes to read or write of a file before the time is checked again. */
const PIECE = 256 * 1024;
const LINES_PER_LOOK = 200;
/** How long the lock may be held at once. */
const SLICE_MS = 8;
const LAST_MS = 2000;
const RETRY_MS = 1000;
const SYNCED_AT_ONCE = 64;
const LF = Buffer.from('\n');
const MAX_LINE_BYTES = 2 * DEFAULT_RECORD_LIMITS.maxRecordBytes;

const BEHIND = 'SELECT * FROM convlog_chats WHERE unread = 0 AND file_number < last_number LIMIT ?';
const UNSYNCED = 'SELECT * FROM convlog_chats WHERE unread = 0 AND synced_number < file_number LIMIT ?';

/** The last of our lines that a file has, and the bytes to write before the next line. */
interface Standing {
  readonly number: number;
  readonly first: Buffer;
}

/**
 * Appends the lines of chats from the table to their files. The table keeps all lines, so every failure here is
 * retried later and delays no caller. It runs beside the batches, a few milliseconds at a time.
 *
 * After `synced_size`, only the process that wrote a file trusts its content. Our lines are there in order; other
 * bytes between them or at the end belong to another tool or are torn, and stay unchanged.
 */
export class ConvlogFollower {
  readonly #db: Database;
  readonly #files: ConvlogFiles;
  /** Device, inode and size of files as this process left them. */
  readonly #known: Map<number, string> = new Map();
  /** Chats whose files are not as recorded. */
  readonly #suspects: Set<number> = new Set();
  /** When to retry a file that could not be written. */
  readonly #failed: Map<number, number> = new Map();
  #isSyncing = false;
  #isClosed = false;

  constructor(db: Database, files: ConvlogFiles) {
    this.#db = db;
    this.#files = files;
  }

  lookInto(chat: number): void {
    this.#suspects.add(chat);
  }

  /** Call it often. */
  tend(untilMs: number = SLICE_MS): void {
    try {
      if (this.#next() === undefined) return;
      this.#db.transaction(() => this.#followSome(performance.now() + untilMs), { lazy: true });
    } catch {
      // Locked, full or failing. The table has all lines; the next call retries.
    }
  }

  /** Works for the last time; the next process completes the rest. */
  close(): void {
    this.tend(LAST_MS);
    this.#isClosed = true;
  }

  #next(): ChatRow | undefined {
    const now = performance.now();
    const isDue = ({ chat }: ChatRow): boolean => (this.#failed.get(chat) ?? 0) <= now;
    for (const chat of this.#suspects) {
      const row = this.#db.row<ChatRow>('SELECT * FROM convlog_chats WHERE unread = 0 AND chat = ?', chat);
      if (row === undefined) this.#suspects.delete(chat);
      else if (isDue(row)) return row;
    }
    return this.#db.rows<ChatRow>(BEHIND, this.#failed.size + 1).find(isDue);
  }

  #followSome(until: number): void {
    do {
      const row = this.#next();
      if (row === undefined) return;
      try {
        this.#db.attempt(() => this.#follow(row));
        this.#failed.delete(row.chat);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
        this.#failed.set(row.chat, performance.now() + RETRY_MS);
        this.#known.delete(row.chat);
      }
    } while (performance.now() < until);
  }

  /** Follows one part of one file. */
  #follow(row: ChatRow): void {
    const fd = this.#files.open(row);
    try {
      const size = sizeOf(fd);
      const isAsLeft = size === row.file_size && this.#known.get(row.chat) === stampOf(fd);
      if (size < row.synced_size) this.#startAgain(row, size);
      else {
        const at = isAsLeft
          ? { number: row.file_number, first: Buffer.alloc(0) }
          : this.#compare(fd, row, size);
        this.#write(fd, row, at, size);
        this.#suspects.delete(row.chat);
      }
    } finally {
      closeSync(fd);
    }
  }

  /** The file was cut or removed. Moves the rest of it to quarantine and writes all lines again from the table. */
  #startAgain(row: ChatRow, size: number): void {
    if (size > 0) this.#files.setAside(row);
    this.#record(row.chat, { number: 0, size: 0 });
    this.#db.run('UPDATE convlog_chats SET synced_number = 0, synced_size = 0 WHERE chat = ?', row.chat);
    this.#suspects.delete(row.chat);
  }

  /** Finds which of our lines follow the synced part, and whether the last one is incomplete. */
  #compare(fd: number, row: ChatRow, size: number): Standing {
    const ours = this.#linesAfter(row, row.synced_number);
    let number = row.synced_number;
    let next = ours.next();
    let first: Buffer = Buffer.alloc(0);
    const splitter = createLineSplitter(MAX_LINE_BYTES, ({ bytes, terminated }) => {
      const expected = next.done === true ? undefined : next.value;
      if (terminated && expected?.bytes.subarray(0, -1).equals(bytes) === true) {
        ({ number } = expected);
        next = ours.next();
      } else if (
        !terminated &&
        bytes.length > 0 &&
        expected?.bytes.subarray(0, bytes.length).equals(bytes) === true
      ) {
        ({ number } = expected);
        first = expected.bytes.subarray(bytes.length);
      } else if (!terminated) first = LF;
    });
    for (let at = row.synced_size; at < size; at += PIECE)
      splitter.push(readRange(fd, at, Math.min(at + PIECE, size)));
    splitter.end();
    return { number, first };
  }

  #write(fd: number, row: ChatRow, { number, first }: Standing, size: number): void {
    const pieces: Buffer[] = [first];
    let [last, length] = [number, first.length];
    for (const line of this.#linesAfter(row, number)) {
      pieces.push(line.bytes);
      last = line.number;
      length += line.bytes.length;
      if (length >= PIECE) break;
    }
    writeAll(fd, Buffer.concat(pieces));
    const end = sizeOf(fd);
    if (end !== size + length) throw changedMeanwhile();
    this.#record(row.chat, { number: last, size: end });
    this.#known.set(row.chat, stampOf(fd));
  }

  #record(chat: number, { number, size }: { readonly number: number; readonly size: number }): void {
    this.#db.run(
      'UPDATE convlog_chats SET file_number = ?, file_size = ? WHERE chat = ?',
      number,
      size,
      chat,
    );
  }

  *#linesAfter(
    row: ChatRow,
    number: number,
  ): Generator<{ readonly number: number; readonly bytes: Buffer }, void> {
    for (let after = number; ; ) {
      const rows = this.#db.rows<LineRow>(
        `SELECT * FROM convlog_lines WHERE ${OF_CHAT} AND number > ? ORDER BY number LIMIT ${LINES_PER_LOOK}`,
        ...valuesOf(row),
        after,
      );
      for (const line of rows)
        yield { number: line.number, bytes: Buffer.from(encodeLogLine(toLine(row, line))) };
      const last = rows.at(-1);
      if (last === undefined) return;
      after = last.number;
    }
  }

  /** Syncs files outside any transaction, without blocking the thread. */
  async sync(): Promise<void> {
    if (this.#isSyncing || this.#isClosed) return;
    this.#isSyncing = true;
    try {
      const synced: ChatRow[] = [];
      for (const row of this.#db.rows<ChatRow>(UNSYNCED, SYNCED_AT_ONCE)) {
        const isDone = await this.#files.sync(row, { isNew: row.synced_size === 0 }).then(
          () => true,
          // Gone or failing. The file stays unsynced in the table, so the next process checks it.
          () => false,
        );
        if (isDone) synced.push(row);
      }
      if (this.#isClosed || synced.length === 0) return;
      this.#db.transaction(
        () => {
          for (const { chat, file_number, file_size } of synced)
            this.#db.run(
              `UPDATE convlog_chats SET synced_number = ?1, synced_size = ?2
               WHERE chat = ?3 AND file_number >= ?1 AND file_size >= ?2`,
              file_number,
              file_size,
              chat,
            );
        },
        { lazy: true },
      );
    } catch {
      // Locked or failing. The next call retries.
    } finally {
      this.#isSyncing = false;
    }
  }
}

function stampOf(fd: number): string {
  const { dev, ino, size } = fstatSync(fd);
  return `${dev}:${ino}:${size}`;
}
