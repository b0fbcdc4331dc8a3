import type { RepriseError } from '../../../errors.ts';
import type { Entry } from '../../../transcript/entry.ts';
import type { FreshRow } from '../../jsonl/follower.ts';
import type { KnownKey } from '../../rules/append-rule.ts';
import type { Holder } from '../../shared/holder.ts';
import type { Database } from '../database.ts';
import type { FreeSpace } from '../free-space.ts';
import type { BlobStore } from '../read/blobs.ts';
import type { LineSource } from '../read/line-source.ts';
import { type SessionRow, saveSession } from '../session-row.ts';
import type { RowCache } from './row-cache.ts';

export interface BatchContext {
  readonly db: Database;
  readonly self: Holder;
  /** Returns the ISO time for the next entry. */
  readonly now: () => string;
  /** Committed lines, for the few checks that need the content of an earlier entry. */
  readonly source: LineSource;
  readonly rows: RowCache;
  readonly blobs: BlobStore;
  /** Unset if the store has no disk. */
  readonly space: FreeSpace | undefined;
  /** Why a session must not be written now, whatever the request; unset in stores without transcripts. */
  readonly obstacle?: (id: string) => RepriseError | undefined;
}

/** Limits of one transaction; a larger one would delay other writers more than the saved fsync is worth. */
const MAX_BATCH_CHARS = 1024 * 1024;
const MAX_BATCH_SESSIONS = 64;

interface PendingLines {
  readonly row: SessionRow;
  firstSeq: number;
  readonly lines: string[];
}

/**
 * The work of one transaction. Several appends to a session become one journal row and one update of its row,
 * whichever callers they came from; that makes group commit cheap.
 */
export class Batch implements BatchContext {
  readonly db: Database;
  readonly self: Holder;
  readonly now: () => string;
  readonly source: LineSource;
  readonly rows: RowCache;
  readonly blobs: BlobStore;
  readonly space: FreeSpace | undefined;
  readonly obstacle: (id: string) => RepriseError | undefined;
  /** Sessions whose transcripts are removed after this batch commits. */
  readonly purged: SessionRow[] = [];
  readonly #lines: Map<string, PendingLines> = new Map();
  readonly #dirty: Set<SessionRow> = new Set();
  /** Rows as they were before each running attempt first used them; the outermost attempt comes first. */
  readonly #attempts: Map<SessionRow, SessionRow>[] = [];
  /** Journal rows that were written immediately. */
  readonly #copied: FreshRow[] = [];
  #chars = 0;

  constructor({ db, self, now, source, rows, blobs, space, obstacle = () => undefined }: BatchContext) {
    this.db = db;
    this.self = self;
    this.now = now;
    this.source = source;
    this.rows = rows;
    this.blobs = blobs;
    this.space = space;
    this.obstacle = obstacle;
  }

  /** Whether the remaining requests must wait for the next transaction. */
  get isFull(): boolean {
    return this.#chars >= MAX_BATCH_CHARS || this.#lines.size >= MAX_BATCH_SESSIONS;
  }

  /** Refuses if the session has an obstacle; called before anything changes. */
  assertWritable({ id }: SessionRow): void {
    const obstacle = this.obstacle(id);
    if (obstacle !== undefined) throw obstacle;
  }

  /** An entry of this session, committed or pending in this batch. */
  entry(row: SessionRow, seq: number): Entry | undefined {
    const pending = this.#lines.get(row.id);
    const own = pending === undefined ? undefined : pending.lines[seq - pending.firstSeq];
    if (own !== undefined) return JSON.parse(own) as Entry;
    const [line] = this.source.lines(row, { from: seq, to: seq }).lines;
    return line?.entry as Entry | undefined;
  }

  /** The shared copy of a session's row that this batch works on. */
  session(id: string): SessionRow {
    return this.#watched(this.rows.get(id));
  }

  /** Like `session`, but the session may be missing or have no lines. */
  find(id: string): SessionRow | undefined {
    const row = this.rows.find(id);
    return row === undefined ? undefined : this.#watched(row);
  }

  #watched(row: SessionRow): SessionRow {
    for (const before of this.#attempts) if (!before.has(row)) before.set(row, { ...row });
    return row;
  }

  /**
   * Runs work with several parts. If one part is refused, all changes of this work are undone, in the tables and in
   * the batch; the other requests of the batch continue. Stray blobs may remain.
   */
  attempt<T>(work: () => T): T {
    const before = new Map<SessionRow, SessionRow>();
    const lengths = new Map([...this.#lines].map(([id, { lines }]) => [id, lines.length]));
    const dirty = new Set(this.#dirty);
    const copied = this.#copied.length;
    this.#attempts.push(before);
    try {
      return this.db.attempt(work);
    } catch (error) {
      this.#copied.length = copied;
      for (const [id, { lines }] of [...this.#lines]) {
        const length = lengths.get(id);
        if (length === undefined) this.#lines.delete(id);
        else lines.length = length;
      }
      for (const [row, copy] of before) {
        // If the batch had not changed the row before, the table has the valid one (or none).
        if (dirty.has(row)) Object.assign(row, copy);
        else this.rows.forget(row.id);
      }
      this.#dirty.clear();
      for (const row of dirty) this.#dirty.add(row);
      throw error;
    } finally {
      this.#attempts.pop();
    }
  }

  /** Drops everything collected for a purged session. */
  drop(row: SessionRow): void {
    this.purged.push(row);
    this.rows.forget(row.id);
    this.#lines.delete(row.id);
    this.#dirty.delete(row);
  }

  touch(row: SessionRow): void {
    this.#dirty.add(row);
  }

  addLines(row: SessionRow, firstSeq: number, lines: readonly string[]): void {
    this.#dirty.add(row);
    for (const line of lines) this.#chars += line.length;
    const pending = this.#lines.get(row.id);
    if (pending === undefined) this.#lines.set(row.id, { row, firstSeq, lines: [...lines] });
    else for (const line of lines) pending.lines.push(line);
  }

  /** Adds lines that are already sealed. */
  addBytes(
    row: SessionRow,
    { first, last, bytes }: { readonly first: number; readonly last: number; readonly bytes: Buffer },
  ): void {
    this.#dirty.add(row);
    this.db.run('INSERT INTO journal VALUES (?, ?, ?, ?)', row.id, first, last, bytes);
    this.#copied.push({ id: row.id, first_seq: first, last_seq: last, bytes });
  }

  knownKey(sessionId: string, key: string): KnownKey | undefined {
    return this.db.row<KnownKey>(
      'SELECT hash, first_seq, last_seq FROM append_keys WHERE session_id = ? AND key = ?',
      sessionId,
      key,
    );
  }

  rememberKey(sessionId: string, key: string, { hash, first_seq, last_seq }: KnownKey): void {
    this.db.run('INSERT INTO append_keys VALUES (?, ?, ?, ?, ?)', sessionId, key, hash, first_seq, last_seq);
  }

  /** Writes everything collected; called once, before the commit. @returns the new journal rows. */
  flush(): FreshRow[] {
    const fresh: FreshRow[] = [...this.#copied];
    for (const { row, firstSeq, lines } of this.#lines.values()) {
      const bytes = Buffer.from(lines.join(''));
      this.db.run('INSERT INTO journal VALUES (?, ?, ?, ?)', row.id, firstSeq, row.seq, bytes);
      fresh.push({ id: row.id, first_seq: firstSeq, last_seq: row.seq, bytes });
    }
    for (const row of this.#dirty) saveSession(this.db, row);
    return fresh;
  }
}
