import { closeSync } from 'node:fs';
import { DEFAULT_RECORD_LIMITS } from '../../../transcript/limits.ts';
import { createLineSplitter } from '../../../transcript/split-lines.ts';
import {
  type ChatNames,
  decodeLogLine,
  encodeLogLine,
  type LineRow,
  namesOf,
  toLine,
  toRow,
} from '../../rules/convlog-line.ts';
import type { Database } from '../../sqlite/database.ts';
import { openPlain, readRange, sizeOf } from '../transcript-files.ts';
import type { ConvlogFiles } from './convlog-files.ts';
import { addLine, type ChatRow, countLine, findChat, OF_CHAT, saveChat, valuesOf } from './convlog-rows.ts';

const PIECE = 128 * 1024;
const MAX_PIECE = 4 * DEFAULT_RECORD_LIMITS.maxRecordBytes;
const LF = 10;

/**
 * Reads the file of one chat into the table, one part per transaction. The chat's row stores the progress, so an
 * interruption loses no line and reads none twice. Lines that were salvaged from a damaged table are matched with the
 * lines in the file, or added after them.
 */
export class ConvlogAdoption {
  readonly #db: Database;
  readonly #files: ConvlogFiles;
  readonly #names: ChatNames;
  /** Numbers of salvaged lines by their encoded text in the file. */
  #salvaged: Map<string, number[]> | undefined;
  #piece: number = PIECE;

  constructor(db: Database, files: ConvlogFiles, names: ChatNames) {
    this.#db = db;
    this.#files = files;
    this.#names = names;
  }

  /** Reads one part, inside a transaction. @returns true when the chat is ready for use. */
  step(): boolean {
    const row = findChat(this.#db, this.#names);
    if (row === undefined || row.unread === 0) return true;
    if (row.last_number > row.file_number) this.#putBack(row);
    const { bytes, isAll } = this.#read(row.file_size);
    let end = bytes.lastIndexOf(LF) + 1;
    if (end === 0 && !isAll) {
      // The line is longer than the part. If it is longer than any line of Reprise, it is skipped.
      this.#piece *= 2;
      if (this.#piece <= MAX_PIECE) return false;
      end = bytes.length;
    }
    const splitter = createLineSplitter(MAX_PIECE, (line) => this.#take(row, line.bytes));
    splitter.push(bytes.subarray(0, end));
    this.#db.run(
      'UPDATE convlog_chats SET file_number = ?, file_size = ? WHERE chat = ?',
      row.last_number,
      row.file_size + end,
      row.chat,
    );
    if (isAll) {
      // A complete line without its LF; the follower adds the LF.
      this.#take(row, bytes.subarray(end));
      this.#takeRest(row);
      this.#db.run(
        'UPDATE convlog_chats SET unread = 0, synced_number = file_number, synced_size = file_size WHERE chat = ?',
        row.chat,
      );
    }
    saveChat(this.#db, row);
    return isAll;
  }

  /**
   * Lines that were added while the file could not be read, or by a process that did not know of it. They wait below
   * 0 like salvaged lines.
   */
  #putBack(row: ChatRow): void {
    const lowest = this.#db.row<{ n: number }>(
      `SELECT min(0, min(number)) AS n FROM convlog_lines WHERE ${OF_CHAT}`,
      ...valuesOf(row),
    );
    row.messages -= this.#db.run(
      `UPDATE convlog_lines SET number = number - ? WHERE ${OF_CHAT} AND number > ?`,
      row.last_number + 1 - (lowest?.n ?? 0),
      ...valuesOf(row),
      row.file_number,
    );
    row.last_number = row.file_number;
    this.#salvaged = undefined;
  }

  #read(from: number): { readonly bytes: Buffer; readonly isAll: boolean } {
    let fd: number;
    try {
      fd = openPlain(this.#files.path(this.#names));
    } catch (error) {
      // The line was salvaged, but its file was never created.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { bytes: Buffer.alloc(0), isAll: true };
      throw error;
    }
    try {
      const to = Math.min(from + this.#piece, sizeOf(fd));
      return { bytes: readRange(fd, from, to), isAll: to >= sizeOf(fd) };
    } finally {
      closeSync(fd);
    }
  }

  #take(row: ChatRow, bytes: Uint8Array): void {
    const line = bytes.length === 0 ? undefined : decodeLogLine(bytes, row.agent_id);
    if (line === undefined || !isOf(namesOf(line), row)) return;
    const number = row.last_number + 1;
    const salvaged = this.#salvagedLines(row).get(encodeLogLine(line))?.shift();
    if (salvaged === undefined) addLine(this.#db, row, toRow(line, number, ''));
    else this.#renumber(row, salvaged, number);
  }

  /** Adds the salvaged lines that the file does not have. */
  #takeRest(row: ChatRow): void {
    const rest = [...this.#salvagedLines(row).values()].flat().sort((a, b) => a - b);
    for (const number of rest) this.#renumber(row, number, row.last_number + 1);
  }

  #renumber(row: ChatRow, from: number, number: number): void {
    const found = this.#db.row<LineRow>(
      `UPDATE convlog_lines SET number = ? WHERE ${OF_CHAT} AND number = ? RETURNING *`,
      number,
      ...valuesOf(row),
      from,
    );
    if (found !== undefined) countLine(this.#db, row, found);
  }

  #salvagedLines(row: ChatRow): Map<string, number[]> {
    if (this.#salvaged !== undefined) return this.#salvaged;
    this.#salvaged = new Map();
    const rows = this.#db.rows<LineRow>(
      `SELECT * FROM convlog_lines WHERE ${OF_CHAT} AND number < 0 ORDER BY number`,
      ...valuesOf(row),
    );
    for (const line of rows) {
      const text = encodeLogLine(toLine(row, line));
      const same = this.#salvaged.get(text);
      if (same === undefined) this.#salvaged.set(text, [line.number]);
      else same.push(line.number);
    }
    return this.#salvaged;
  }
}

const isOf = (a: ChatNames, b: ChatNames): boolean =>
  a.channel_type === b.channel_type && a.channel_id === b.channel_id;
