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
  /** ISO time of the next entry. */
  readonly now: () => string;
  /** Committed lines, for the few checks that need what an earlier entry says. */
  readonly source: LineSource;
  readonly rows: RowCache;
  readonly blobs: BlobStore;
  /** Unset where no disk can be full. */
  readonly space: FreeSpace | undefined;
  /** Why a session must not be written now, whatever the request; unset for stores without transcripts. */
  readonly obstacle?: (id: string) => RepriseError | undefined;
}

/** Beyond these a transaction would keep others waiting for longer than one fsync is worth. */
const MAX_BATCH_CHARS = 1024 * 1024;
const MAX_BATCH_SESSIONS = 64;

interface PendingLines {
  readonly row: SessionRow;
  firstSeq: number;
  readonly lines: string[];
}

/**
 * The work of one transaction. Several appends to a session become one journal row and one update of its row,
 * however many callers they came from; that is what makes group commit cheap.
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
  /** Sessions whose transcripts go once this batch is committed. */
  readonly purged: SessionRow[] = [];
  readonly #lines: Map<string, PendingLines> = new Map();
  readonly #dirty: Set<SessionRow> = new Set();
  /** Rows as they were when an attempt under way first asked for them, outermost attempt first. */
  readonly #attempts: Map<SessionRow, SessionRow>[] = [];
  /** Journal rows that were written at once. */
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

  /** Whether the rest has to wait for the next transaction. */
  get isFull(): boolean {
    return this.#chars >= MAX_BATCH_CHARS || this.#lines.size >= MAX_BATCH_SESSIONS;
  }

  /** Asked before anything is touched. */
  assertWritable({ id }: SessionRow): void {
    const obstacle = this.obstacle(id);
    if (obstacle !== undefined) throw obstacle;
  }

  /** An entry of this session, committed or of this very batch. */
  entry(row: SessionRow, seq: number): Entry | undefined {
    const pending = this.#lines.get(row.id);
    const own = pending === undefined ? undefined : pending.lines[seq - pending.firstSeq];
    if (own !== undefined) return JSON.parse(own) as Entry;
    const [line] = this.source.lines(row, { from: seq, to: seq }).lines;
    return line?.entry as Entry | undefined;
  }

  /** The one copy of a session's row this batch works on. */
  session(id: string): SessionRow {
    return this.#watched(this.rows.get(id));
  }

  /** The same where there may be none, or one without lines. */
  find(id: string): SessionRow | undefined {
    const row = this.rows.find(id);
    return row === undefined ? undefined : this.#watched(row);
  }

  #watched(row: SessionRow): SessionRow {
    for (const before of this.#attempts) if (!before.has(row)) before.set(row, { ...row });
    return row;
  }

  /**
   * Work of several parts: when one is refused, nothing of it has happened, neither in the tables nor in what the batch
   * has gathered, and the others of the batch go on. Blobs may stay as strays.
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
        // What this batch had not changed before is as the tables have it; it may even not be there.
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

  /** For a session that is gone for good: nothing gathered for it may come back. */
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

  /** Lines that are sealed already, as they are. */
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

  /** Writes what the batch gathered; called once, before the commit. Answers with the new journal rows. */
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
