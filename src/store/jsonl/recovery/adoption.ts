import { closeSync, constants } from 'node:fs';
import { formatSessionKey } from '../../../keys/session-key.ts';
import { EPOCH_JUMP } from '../../rules/epoch-jump.ts';
import type { Database } from '../../sqlite/database.ts';
import { findSession, type SessionRow, saveSession } from '../../sqlite/session-row.ts';
import type { Owner } from '../folders.ts';
import {
  endLine,
  openPlain,
  readRange,
  sizeOf,
  syncData,
  type TranscriptFiles,
  truncate,
} from '../transcript-files.ts';
import {
  type Adoption as Adopted,
  type Adopter,
  createAdopter,
  leaveKeyIfDeleted,
  setKey,
  type UnfiledLine,
} from './adopt.ts';

const PIECE = 1024 * 1024;

export interface AdoptionOptions {
  readonly db: Database;
  /** Unset for a store without transcripts. */
  readonly files?: TranscriptFiles | undefined;
  readonly durability: 'disk' | 'os';
}

interface Journalled {
  readonly bytes: Uint8Array;
}

/**
 * Reads a whole session into the index that only has its header: from its transcript, one part per transaction, and
 * then from salvaged journal rows. The row stays unread (`seq = 0`) until everything is done, so an interruption
 * leaves no partial state in use, and two processes that do it create the same rows.
 */
export class Adoption {
  readonly #db: Database;
  readonly #files: TranscriptFiles | undefined;
  readonly #durability: 'disk' | 'os';
  readonly #owner: Owner;
  #fd: number | undefined;
  #at = 0;
  #work: { readonly row: SessionRow; readonly adopter: Adopter } | undefined;

  constructor(owner: Owner, { db, files, durability }: AdoptionOptions) {
    this.#db = db;
    this.#files = files;
    this.#durability = durability;
    this.#owner = owner;
  }

  /** Reads one part, inside a transaction. @returns true when the session is ready for use. */
  step(): boolean {
    const row = findSession(this.#db, this.#owner.id);
    if (row === undefined || row.seq > 0) return true;
    if (this.#work === undefined) {
      // The lines decide; what a look at the ends of the file showed was for lists.
      const own = { ...row, title: '', status: 'open' as const, last_at: row.created_at };
      this.#fd = this.#open();
      this.#work = { row: own, adopter: createAdopter(this.#db, own, { from: 0 }) };
    }
    const { adopter } = this.#work;
    const size = this.#fd === undefined ? 0 : sizeOf(this.#fd);
    if (this.#fd !== undefined && this.#at < size) {
      const end = Math.min(this.#at + PIECE, size);
      adopter.push(readRange(this.#fd, this.#at, end));
      this.#at = end;
      if (end < size) return false;
    }
    this.#finish(this.#work.row, adopter, size);
    return true;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #open(): number | undefined {
    if (this.#files === undefined) return undefined;
    try {
      const path = this.#files.path(this.#owner.agentId, this.#owner.id);
      return openPlain(path, constants.O_RDWR | constants.O_APPEND);
    } catch (error) {
      // The session was salvaged, but its file was never created.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  #finish(row: SessionRow, adopter: Adopter, size: number): void {
    const salvaged = this.#db.rows<Journalled>(
      'SELECT bytes FROM journal WHERE session_id = ? ORDER BY first_seq',
      row.id,
    );
    for (const { bytes } of salvaged) adopter.pushJournal(bytes);
    const adopted = adopter.finish();
    if (row.seq === 0 && this.#fd === undefined) {
      // Salvaged without any line, and no file was ever created.
      this.#db.run('DELETE FROM sessions WHERE id = ?', row.id);
      return;
    }
    // Without a valid header the file stays unchanged: a repair needs every byte.
    const isHeadless = row.corrupt_at === 0 || row.seq === 0;
    if (isHeadless) {
      row.seq = Math.max(row.seq, 1);
      row.q = Math.max(row.q, 1);
      if (row.key === '')
        setKey(
          this.#db,
          row,
          formatSessionKey({ kind: 'session', agentId: this.#owner.agentId, id: row.id }),
        );
    }
    const settled =
      this.#fd === undefined ? 0 : isHeadless ? size : this.#settleFile(this.#fd, adopted, size);
    const fileSeq = isHeadless ? row.seq : adopted.fileSeq;
    row.epoch += EPOCH_JUMP;
    saveSession(this.#db, row);
    leaveKeyIfDeleted(this.#db, row);
    this.#db.run(
      'UPDATE sessions SET file_seq = ?, synced_seq = ?, file_size = ?, synced_size = ?, corrupt_at = ? WHERE id = ?',
      fileSeq,
      fileSeq,
      settled,
      settled,
      isHeadless ? 0 : (adopted.corruptAt ?? null),
      row.id,
    );
    if (salvaged.length > 0) this.#journal(row.id, adopted.unfiled);
    // Left by an interrupted attempt on a longer file.
    this.#db.run('DELETE FROM append_keys WHERE session_id = ? AND last_seq > ?', row.id, row.seq);
    for (const table of ['marks', 'foreign_lines', 'source_entries'])
      this.#db.run(`DELETE FROM ${table} WHERE session_id = ? AND seq > ?`, row.id, row.seq);
  }

  /** Moves the rest of a torn append to quarantine and syncs the remaining lines. */
  #settleFile(fd: number, { end }: Adopted, size: number): number {
    if (end < size) {
      this.#files?.quarantine(`${this.#owner.id}.jsonl@${end}`, readRange(fd, end, size));
      truncate(fd, end);
    }
    endLine(fd);
    if (this.#durability === 'disk') syncData(fd);
    return sizeOf(fd);
  }

  /**
   * Stores lines that the file does not have yet in the journal, under their current numbers; the follower writes
   * them.
   */
  #journal(id: string, lines: readonly UnfiledLine[]): void {
    this.#db.run('DELETE FROM journal WHERE session_id = ?', id);
    for (let start = 0; start < lines.length; ) {
      const first = lines[start]?.seq ?? 0;
      let end = start + 1;
      while (end < lines.length && lines[end]?.seq === first + end - start) end++;
      const bytes = Buffer.concat(lines.slice(start, end).map((line) => line.bytes));
      this.#db.run('INSERT INTO journal VALUES (?, ?, ?, ?)', id, first, first + end - start - 1, bytes);
      start = end;
    }
  }
}
