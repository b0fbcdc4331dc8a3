import { statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { RepriseError } from '../../errors.ts';
import { copyLog, emptyLog, isBusy, movedError, nap, SideFiles } from '../jsonl/side-files.ts';
import { storeClosed } from '../rules/refusals.ts';
import { storeError } from './store-error.ts';
import { rewriteTables } from './write/rewrite-tables.ts';

export const BUSY_LIMIT_MS = 5000;
const MiB = 1024 * 1024;

export interface DatabaseOptions {
  /** `:memory:` for a store that keeps nothing. */
  readonly path: string;
  readonly durability: 'disk' | 'os';
  readonly readOnly?: boolean;
  /** A reader that comes before any writer of this process. */
  readonly isFirst?: boolean;
}

/**
 * One connection to control.db. SQLite's write lock is an OS lock: it dies with its process, and nobody can
 * write while a paused writer is inside a transaction, so check-then-write has no gap (P5).
 */
export class Database {
  readonly #options: DatabaseOptions;
  readonly #files: SideFiles | undefined;
  #db: DatabaseSync;
  #statements: Map<string, StatementSync> = new Map();
  #connections = 0;
  /** The files were found moved when nobody could be told. */
  #untold = false;
  /** Proved of this connection, not hoped: SQLite says as late as the first write that it may only read. */
  #mayWrite = false;
  #isClosed = false;

  constructor(options: DatabaseOptions) {
    const { path, readOnly = false, isFirst = false } = options;
    this.#options = options;
    if (path !== ':memory:') this.#files = new SideFiles(path, { readOnly, isFirst });
    this.#db = this.#connect(BUSY_LIMIT_MS);
  }

  sql(text: string): StatementSync {
    this.#ensureOpen();
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#db.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement;
  }

  run(text: string, ...values: SQLInputValue[]): number {
    return Number(this.sql(text).run(...values).changes);
  }

  row<T>(text: string, ...values: SQLInputValue[]): T | undefined {
    return this.sql(text).get(...values) as T | undefined;
  }

  rows<T>(text: string, ...values: SQLInputValue[]): T[] {
    return this.sql(text).all(...values) as T[];
  }

  /** Several statements without values. */
  script(text: string): void {
    this.#ensureOpen();
    this.#db.exec(text);
  }

  /** Changes when another connection has committed. */
  dataVersion(): number {
    return this.row<{ data_version: number }>('PRAGMA data_version')?.data_version ?? 0;
  }

  /** Changes with every commit of another connection, every row this one has changed, and when it is made anew. */
  writeVersion(): string {
    const own = this.row<{ n: number }>('SELECT total_changes() AS n')?.n ?? 0;
    return `${this.#connections}:${this.dataVersion()}:${own}`;
  }

  /** Work under the write lock. `lazy` skips the fsync of the commit: for what can be done again. */
  transaction<T>(work: () => T, { lazy = false }: { readonly lazy?: boolean } = {}): T {
    if (!lazy && this.#untold) {
      // Whoever is told may rely on it that what was acknowledged is safe.
      this.#leaveIfMoved(BUSY_LIMIT_MS);
      this.#untold = false;
      throw movedError('none');
    }
    // What can be done again need not wait for a store that is away.
    this.#ensureOpen(lazy ? 0 : BUSY_LIMIT_MS);
    if (lazy && this.#options.durability === 'disk') this.#db.exec('PRAGMA synchronous=NORMAL');
    try {
      if (lazy) this.#begin();
      else this.#beginWritable();
      let result: T;
      try {
        this.#assertPlace('none');
        result = work();
      } catch (error) {
        // A full disk may have made SQLite roll back by itself.
        if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
        if (this.#leaveIfMoved(BUSY_LIMIT_MS) && lazy) this.#untold = true;
        throw this.#failure(error);
      }
      this.#commit();
      this.#assertPlace('unknown');
      return result;
    } catch (error) {
      // Whoever comes next is better served by a new connection.
      if (isReadOnly(error)) this.#disconnect();
      throw error;
    } finally {
      if (lazy && this.#options.durability === 'disk' && this.#db.isOpen)
        this.#db.exec('PRAGMA synchronous=FULL');
    }
  }

  /** Work that is undone when it throws, while the transaction around it goes on. */
  attempt<T>(work: () => T): T {
    this.#db.exec('SAVEPOINT attempt');
    try {
      const result = work();
      this.#db.exec('RELEASE attempt');
      return result;
    } catch (error) {
      this.#db.exec('ROLLBACK TO attempt; RELEASE attempt');
      throw error;
    }
  }

  /** One consistent view for several reads. */
  snapshot<T>(work: () => T): T {
    this.#ensureOpen();
    this.#db.exec('BEGIN');
    try {
      return work();
    } finally {
      this.#db.exec('COMMIT');
    }
  }

  /** Moves all of the write-ahead log into the database, durably, or throws. */
  checkpoint(): void {
    this.#ensureOpen();
    if (!copyLog(this.#db, BUSY_LIMIT_MS))
      throw new RepriseError('STORE_BUSY', 'the log could not be moved into the database');
  }

  /**
   * Leaves no byte of deleted rows in the database or its log. Every table is emptied and filled again, because pages
   * in use keep old cells in their gaps too, and free pages are overwritten. Unlike VACUUM this keeps the place of each
   * table, which salvage relies on. Writers wait until it is done.
   */
  scrub(): void {
    this.#ensureOpen();
    this.#db.exec('PRAGMA secure_delete=ON');
    try {
      this.transaction(() => rewriteTables(this.#db));
      if (!emptyLog(this.#db, BUSY_LIMIT_MS))
        throw new RepriseError('STORE_BUSY', 'a reader kept the log of the database in use for 5 s');
    } finally {
      if (this.#db.isOpen) this.#db.exec('PRAGMA secure_delete=OFF');
    }
  }

  /**
   * To be called often: nobody comes back to a store whose files were removed before everybody has left it.
   * Answers whether there is a connection to work with.
   */
  tend(): boolean {
    try {
      if (this.#leaveIfMoved(0)) this.#untold = true;
      this.#ensureOpen(0);
    } catch {
      // Others have not left yet, or the disk fails: whoever needs the store is told, and this is tried again.
    }
    return this.#db.isOpen;
  }

  /** After a failed commit nothing about this connection can be trusted. */
  reopen(): void {
    // Moved and unable to leave: closing it could lose what only its log knows.
    if (this.#leaveIfMoved(BUSY_LIMIT_MS) && this.#db.isOpen) throw movedError('unknown');
    this.#disconnect();
    this.#ensureOpen();
  }

  /** For good: what still comes is refused, where it would otherwise open the files again behind everybody's back. */
  close(): void {
    this.#isClosed = true;
    this.#disconnect();
  }

  #disconnect(): void {
    this.#statements = new Map();
    this.#leaveIfMoved(BUSY_LIMIT_MS);
    if (this.#db.isOpen) this.#db.close();
  }

  #leaveIfMoved(waitMs: number): boolean {
    if (!this.#db.isOpen || this.#files?.place() !== 'moved') return false;
    this.#statements = new Map();
    this.#files.leave(this.#db, waitMs);
    return true;
  }

  /** A connection that could not be made anew after a failure (no descriptors, say) is tried again at the next need. */
  #ensureOpen(waitMs: number = BUSY_LIMIT_MS): void {
    if (this.#db.isOpen) return;
    if (this.#isClosed) throw storeClosed();
    this.#db = this.#connect(waitMs);
  }

  #failure(error: unknown, outcome: 'none' | 'unknown' = 'none'): RepriseError {
    return storeError(error, outcome, this.#options.path);
  }

  #connect(waitMs: number): DatabaseSync {
    this.#connections++;
    this.#mayWrite = false;
    const connect = (how: { readonly isSealed: boolean }): DatabaseSync =>
      openDatabase({ ...this.#options, ...how });
    try {
      return this.#files === undefined ? connect({ isSealed: false }) : this.#files.open(connect, waitMs);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /**
   * SQLite falls back to reading where it may not write, for as long as the connection lasts, and whoever made this
   * one may have come before the file was freed. So one new connection is tried before anybody is refused. If that
   * may only read as well, the first write says so, and work that finds nothing to write is done.
   */
  #beginWritable(): void {
    try {
      this.#begin();
      this.#mayWrite ||= this.#provesWritable();
      if (this.#mayWrite) return;
      this.#db.exec('ROLLBACK');
    } catch (error) {
      if (!isReadOnly(error)) throw error;
    }
    this.#disconnect();
    this.#ensureOpen();
    this.#begin();
  }

  /** The lightest statement that asks for a write transaction: no database of ours has pages to give back by it. */
  #provesWritable(): boolean {
    try {
      this.#db.exec('PRAGMA incremental_vacuum');
      return true;
    } catch (error) {
      const failure = this.#failure(error);
      if (isReadOnly(failure)) return false;
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw failure;
    }
  }

  /** Starvation-free where SQLite's own busy handler is not: short naps with jitter, for five seconds. */
  #begin(): void {
    const deadline = performance.now() + BUSY_LIMIT_MS;
    for (;;) {
      try {
        this.#db.exec('BEGIN IMMEDIATE');
        return;
      } catch (error) {
        if (!isBusy(error)) throw this.#failure(error);
        if (performance.now() > deadline) {
          throw new RepriseError('STORE_BUSY', 'the store stayed locked for 5 s', { cause: error });
        }
        nap();
      }
    }
  }

  #commit(): void {
    try {
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw this.#failure(error, 'unknown');
    }
  }

  /** Before a batch and after its commit: with other files under its name there may be a second writer. */
  #assertPlace(outcome: 'none' | 'unknown'): void {
    if (this.#options.readOnly === true || this.#files === undefined) return;
    if (this.#files.place() === 'here') return;
    // A commit that turns out to have happened is answered with success, so the next batch is told.
    if (outcome === 'unknown') this.#untold = true;
    throw movedError(outcome);
  }
}

function openDatabase({
  path,
  durability,
  readOnly = false,
  isSealed,
}: DatabaseOptions & { readonly isSealed: boolean }): DatabaseSync {
  const db = new DatabaseSync(isSealed ? unchanging(path) : path, { readOnly, timeout: BUSY_LIMIT_MS });
  try {
    if (!readOnly) {
      db.exec(`PRAGMA synchronous=${durability === 'disk' ? 'FULL' : 'NORMAL'}`);
      // A large WAL is checkpointed rarely, and one that is not truncated needs no new blocks on a full disk.
      db.exec(
        `PRAGMA wal_autocheckpoint=4096; PRAGMA journal_size_limit=${64 * MiB}; PRAGMA cache_size=-16384; PRAGMA busy_timeout=0`,
      );
    }
    // SQLite opens or makes the side files at the first look.
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** SQLite then needs no side files. */
function unchanging(path: string): URL {
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  return url;
}

function isReadOnly(error: unknown): boolean {
  return error instanceof RepriseError && error.code === 'STORE_READ_ONLY';
}

/** Device and inode; `none` where there is no file. */
export function identityOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? 'none' : `${stat.dev}:${stat.ino}`;
}
