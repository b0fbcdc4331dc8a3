import { statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { RepriseError } from '../../errors.ts';
import { SCHEMA, SCHEMA_VERSION } from './schema.ts';

const BUSY = 5;
const BUSY_LIMIT_MS = 5000;
const MiB = 1024 * 1024;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

export interface DatabaseOptions {
  /** `:memory:` for a store that keeps nothing. */
  readonly path: string;
  readonly durability: 'disk' | 'os';
  readonly readOnly?: boolean;
}

/**
 * One connection to control.db. SQLite's write lock is an OS lock: it dies with its process, and nobody can
 * write while a paused writer is inside a transaction, so check-then-write has no gap (P5).
 */
export class Database {
  readonly #options: DatabaseOptions;
  #db: DatabaseSync;
  #statements: Map<string, StatementSync> = new Map();
  #identity: string | undefined;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#db = this.#connect();
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
    this.#db.exec(text);
  }

  /** Changes when another connection has committed. */
  dataVersion(): number {
    return this.row<{ data_version: number }>('PRAGMA data_version')?.data_version ?? 0;
  }

  /** Work under the write lock. `lazy` skips the fsync of the commit: for what can be done again. */
  transaction<T>(work: () => T, { lazy = false }: { readonly lazy?: boolean } = {}): T {
    this.#ensureOpen();
    if (lazy && this.#options.durability === 'disk') this.#db.exec('PRAGMA synchronous=NORMAL');
    try {
      this.#begin();
      let result: T;
      try {
        this.#assertIdentity('none');
        result = work();
      } catch (error) {
        this.#db.exec('ROLLBACK');
        throw storeError(error, 'none');
      }
      this.#commit();
      if (this.#identity === undefined) this.#identity = this.#readIdentity();
      else this.#assertIdentity('unknown');
      return result;
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
    this.#db.exec('BEGIN');
    try {
      return work();
    } finally {
      this.#db.exec('COMMIT');
    }
  }

  /** Moves all of the write-ahead log into the database, durably, or throws. */
  checkpoint(): void {
    const result = this.row<{ busy: number }>('PRAGMA wal_checkpoint(TRUNCATE)');
    if (result?.busy !== 0)
      throw new RepriseError('STORE_BUSY', 'the log could not be moved into the database');
  }

  /** After a failed commit nothing about this connection can be trusted. */
  reopen(): void {
    this.close();
    this.#db = this.#connect();
    this.#identity = undefined;
  }

  close(): void {
    this.#statements = new Map();
    if (this.#db.isOpen) this.#db.close();
  }

  /** A connection that could not be made anew after a failure (no descriptors, say) is tried again at the next need. */
  #ensureOpen(): void {
    if (this.#db.isOpen) return;
    try {
      this.#db = this.#connect();
      // Side files may have been made anew meanwhile: what this connection finds is what it has to keep.
      this.#identity = undefined;
    } catch (error) {
      throw storeError(error);
    }
  }

  #connect(): DatabaseSync {
    const { path, durability, readOnly = false } = this.#options;
    const db = new DatabaseSync(path, { readOnly, timeout: readOnly ? BUSY_LIMIT_MS : 0 });
    if (readOnly) return db;
    db.exec(`PRAGMA journal_mode=WAL; PRAGMA synchronous=${durability === 'disk' ? 'FULL' : 'NORMAL'}`);
    // A large WAL is checkpointed rarely, and one that is not truncated needs no new blocks on a full disk.
    db.exec(
      `PRAGMA wal_autocheckpoint=4096; PRAGMA journal_size_limit=${64 * MiB}; PRAGMA cache_size=-16384`,
    );
    return db;
  }

  /** Starvation-free where SQLite's own busy handler is not: short naps with jitter, for five seconds. */
  #begin(): void {
    const deadline = performance.now() + BUSY_LIMIT_MS;
    for (;;) {
      try {
        this.#db.exec('BEGIN IMMEDIATE');
        return;
      } catch (error) {
        if ((error as { errcode?: number }).errcode !== BUSY) throw storeError(error);
        if (performance.now() > deadline) {
          throw new RepriseError('STORE_BUSY', 'the store stayed locked for 5 s', { cause: error });
        }
        Atomics.wait(sleeper, 0, 0, 0.5 + Math.random());
      }
    }
  }

  #commit(): void {
    try {
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw storeError(error, 'unknown');
    }
  }

  /**
   * Device and inode of the database and its side files: replaced under us, they admit a second writer. Known
   * from the first commit on, because SQLite makes the side files when it needs them.
   */
  #readIdentity(): string | undefined {
    const { path, readOnly } = this.#options;
    if (path === ':memory:' || readOnly === true) return undefined;
    return ['', '-wal', '-shm'].map((suffix) => identityOf(path + suffix)).join();
  }

  #assertIdentity(outcome: 'none' | 'unknown'): void {
    if (this.#identity === undefined) return;
    if (this.#readIdentity() !== this.#identity) {
      throw new RepriseError('STORE_MOVED', 'the files of control.db were replaced while it was open', {
        outcome,
      });
    }
  }
}

function identityOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? 'none' : `${stat.dev}:${stat.ino}`;
}

/** Makes the tables of an empty database, or checks the version of one that has them. */
export function prepareSchema(db: Database): void {
  db.transaction(() => {
    const known = db.row('SELECT 1 FROM sqlite_schema WHERE name = ?', 'meta') !== undefined;
    if (!known) {
      db.script(SCHEMA);
      db.run('INSERT INTO meta (name, value) VALUES (?, ?)', 'schema', String(SCHEMA_VERSION));
      return;
    }
    const version = Number(
      db.row<{ value: string }>('SELECT value FROM meta WHERE name = ?', 'schema')?.value,
    );
    if (version > SCHEMA_VERSION) {
      throw new RepriseError(
        'STORE_NEWER',
        `control.db has schema ${version}, this version knows ${SCHEMA_VERSION}`,
        {
          details: { next: 'Use the newer Reprise that wrote it.' },
        },
      );
    }
  });
}

/** SQLite's own failures by our codes. */
export function storeError(error: unknown, outcome: 'none' | 'unknown' = 'none'): RepriseError {
  if (error instanceof RepriseError) return error;
  const { errcode = 0, message = String(error) } = error as { errcode?: number; message?: string };
  const code = (
    {
      5: 'STORE_BUSY',
      8: 'STORE_READ_ONLY',
      13: 'STORE_FULL',
      11: 'STORE_CORRUPT',
      26: 'STORE_CORRUPT',
    } as const
  )[errcode & 0xff];
  return new RepriseError(code ?? 'STORE_FAILED', `the store failed: ${message}`, { cause: error, outcome });
}
