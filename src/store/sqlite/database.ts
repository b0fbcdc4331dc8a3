import { statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { copyLog, emptyLog, isBusy, movedError, nap, SideFiles } from '../jsonl/side-files.ts';
import { storeClosed } from '../rules/refusals.ts';
import { storeError } from './store-error.ts';
import { rewriteTables } from './write/rewrite-tables.ts';

export const BUSY_LIMIT_MS = 5000;
const MiB = 1024 * 1024;

export interface DatabaseOptions {
  /** Path of the database file, or `:memory:` for a store that is not saved. */
  readonly path: string;
  readonly durability: 'disk' | 'os';
  readonly readOnly?: boolean;
  /** Set for a reader that may open the database before any writer of this process. */
  readonly isFirst?: boolean;
}

/**
 * One connection to control.db. SQLite's write lock is an OS lock: the OS releases it when the process dies, and no
 * other process can write while a paused writer is inside a transaction, so check-then-write has no gap (P5).
 */
export class Database {
  readonly #options: DatabaseOptions;
  readonly #files: SideFiles | undefined;
  #db: DatabaseSync;
  #statements: Map<string, StatementSync> = new Map();
  #connections = 0;
  /** The database files were moved while no caller was waiting; the next write fails with that error. */
  #untold = false;
  /** Set after a test on this connection, because SQLite reports a read-only connection only at its first write. */
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

  /** Runs several statements without parameters. */
  script(text: string): void {
    this.#ensureOpen();
    this.#db.exec(text);
  }

  /** Changes when another connection commits. */
  dataVersion(): number {
    return this.row<{ data_version: number }>('PRAGMA data_version')?.data_version ?? 0;
  }

  /**
   * Changes with every commit of another connection, with every row that this connection changes, and on reconnect.
   */
  writeVersion(): string {
    const own = this.row<{ n: number }>('SELECT total_changes() AS n')?.n ?? 0;
    return `${this.#connections}:${this.dataVersion()}:${own}`;
  }

  /** Runs `work` under the write lock. `lazy` skips the fsync of the commit, for work that can be repeated. */
  transaction<T>(work: () => T, { lazy = false }: { readonly lazy?: boolean } = {}): T {
    if (!lazy && this.#untold) {
      // Leave the moved files first: a caller that gets this error may rely on all acknowledged writes being safe.
      this.#leaveIfMoved(BUSY_LIMIT_MS);
      this.#untold = false;
      throw movedError('none');
    }
    // Repeatable work does not wait for files that are missing.
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
        // SQLite may already have rolled back by itself, for example on a full disk.
        if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
        if (this.#leaveIfMoved(BUSY_LIMIT_MS) && lazy) this.#untold = true;
        throw this.#failure(error);
      }
      this.#commit();
      this.#assertPlace('unknown');
      return result;
    } catch (error) {
      // The next transaction gets a new connection.
      if (isReadOnly(error)) this.#disconnect();
      throw error;
    } finally {
      if (lazy && this.#options.durability === 'disk' && this.#db.isOpen)
        this.#db.exec('PRAGMA synchronous=FULL');
    }
  }

  /** Runs `work` in a savepoint: if it throws, its changes are undone and the surrounding transaction continues. */
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

  /** Runs several reads on one consistent snapshot. */
  snapshot<T>(work: () => T): T {
    this.#ensureOpen();
    this.#db.exec('BEGIN');
    try {
      return work();
    } finally {
      this.#db.exec('COMMIT');
    }
  }

  /** Moves the whole write-ahead log into the database file and syncs it, or throws. */
  checkpoint(): void {
    this.#ensureOpen();
    if (!copyLog(this.#db, BUSY_LIMIT_MS)) throw logInUse();
  }

  /**
   * Removes every byte of deleted rows from the database and its log. All tables are emptied and filled again,
   * because pages in use keep old cells in their gaps; free pages are overwritten. Unlike VACUUM, this keeps each
   * table's root page, which salvage relies on. Other writers wait until it is done.
   */
  scrub(): void {
    this.#ensureOpen();
    this.#db.exec('PRAGMA secure_delete=ON');
    try {
      this.transaction(() => rewriteTables(this.#db));
      if (!emptyLog(this.#db, BUSY_LIMIT_MS)) throw logInUse();
    } finally {
      if (this.#db.isOpen) this.#db.exec('PRAGMA secure_delete=OFF');
    }
  }

  /**
   * Call it often. If the files were moved or removed, this process must leave them before another process can open a
   * new database. @returns whether a connection is open.
   */
  tend(): boolean {
    try {
      if (this.#leaveIfMoved(0)) this.#untold = true;
      this.#ensureOpen(0);
    } catch {
      // Other processes have not left yet, or the disk fails. A caller that needs the store gets the error; the next
      // call retries.
    }
    return this.#db.isOpen;
  }

  /** Replaces the connection after a failed commit, because its state is unknown. */
  reopen(): void {
    // The files were moved and could not be left. Closing the connection could lose writes that are only in its log.
    if (this.#leaveIfMoved(BUSY_LIMIT_MS) && this.#db.isOpen) throw movedError('unknown');
    this.#disconnect();
    this.#ensureOpen();
  }

  /** Closes permanently. Later calls are refused; otherwise they would open the files again. */
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

  /** Reconnects after a failure (for example too many open files) at the next use. */
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
   * SQLite silently opens a read-only connection if it may not write, and the connection may be older than the fix of
   * the file's permissions. So one new connection is tried before a write is refused. If that one is read-only too,
   * the first write reports it; a transaction that writes nothing succeeds.
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

  /** Runs the cheapest statement that needs a write transaction; our databases have no pages that it could free. */
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

  /** Retries with short random pauses for five seconds. SQLite's busy handler can starve a waiting writer. */
  #begin(): void {
    const deadline = performance.now() + BUSY_LIMIT_MS;
    for (;;) {
      try {
        this.#db.exec('BEGIN IMMEDIATE');
        return;
      } catch (error) {
        if (!isBusy(error)) throw this.#failure(error);
        if (performance.now() > deadline) {
          throw failure('STORE_BUSY', 'store.locked', { seconds: BUSY_LIMIT_MS / 1000 }, { cause: error });
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

  /**
   * Checks before a batch and after its commit that the files were not replaced: with new files at the path, a second
   * writer may exist.
   */
  #assertPlace(outcome: 'none' | 'unknown'): void {
    if (this.#options.readOnly === true || this.#files === undefined) return;
    if (this.#files.place() === 'here') return;
    // The commit happened, so its caller gets success; the next transaction fails with the error.
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
      // A large WAL is checkpointed rarely. Keeping its file size means that writes need no new blocks on a full
      // disk.
      db.exec(
        `PRAGMA wal_autocheckpoint=4096; PRAGMA journal_size_limit=${64 * MiB}; PRAGMA cache_size=-16384; PRAGMA busy_timeout=0`,
      );
    }
    // SQLite opens or creates the side files at the first read.
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** An `immutable` URL: SQLite then needs no side files. */
function unchanging(path: string): URL {
  const url = pathToFileURL(path);
  url.searchParams.set('immutable', '1');
  return url;
}

function isReadOnly(error: unknown): boolean {
  return error instanceof RepriseError && error.code === 'STORE_READ_ONLY';
}

/** Device and inode of a file; `none` if the file does not exist. */
export function identityOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? 'none' : `${stat.dev}:${stat.ino}`;
}

function logInUse(): RepriseError {
  return failure('STORE_BUSY', 'store.logInUse', { seconds: BUSY_LIMIT_MS / 1000 });
}
