import { rmSync, statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { identityOf } from '../database.ts';
import { keepPrivate } from '../home.ts';
import { isDamage } from '../store-error.ts';

/**
 * An index with a lower version is rebuilt. A higher one belongs to a newer version, which may be running at the same
 * time.
 */
const VERSION = 2;
const BUSY_MS = 100;
const SQLITE_ERROR = 1;
const SIDE_FILES = ['-wal', '-shm'];
/** Log size to keep after a large import; the size of the log decides when it is checkpointed. */
const LOG_KEPT_BYTES = 16 * 1024 * 1024;

/** Numbers of pages in the log and of pages already copied into the database. */
interface Checkpoint {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * The index can find text but does not contain it: `detail=none` and no content. SQLite's trigram tokenizer finds
 * three or more characters; a table of pairs finds one or two (docs/decisions/0015).
 */
const SCHEMA = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
-- The last indexed seq of each session and a checksum of that line; a seq below 0 means: remove it first.
CREATE TABLE sessions (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  seq INTEGER NOT NULL,
  sum INTEGER NOT NULL
) STRICT;
CREATE TABLE docs (
  doc INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX docs_by_time ON docs (at);
CREATE INDEX docs_by_session ON docs (session, at);
CREATE VIRTUAL TABLE trigrams USING fts5(
  text, content='', contentless_delete=1, detail=none, tokenize='trigram case_sensitive 1'
);
CREATE VIRTUAL TABLE pairs USING fts5(
  text, content='', contentless_delete=1, detail=none, prefix='1', tokenize='ascii'
);
`;

/**
 * search.db is derived from the transcripts, so it may be removed, damaged or replaced at any time. A process that
 * finds it unusable discards it and starts with an empty one; no other data is lost.
 */
export class SearchFile {
  readonly #path: string;
  /** Identifies the control.db it was built from: in another one the same seqs mean other lines. */
  readonly #origin: () => string;
  #db: DatabaseSync | undefined;
  #files: readonly string[] = [];
  #statements: Map<string, StatementSync> = new Map();
  /** Whether something was written since the last checkpoint. */
  #isLogged = false;
  /** Why the index cannot be used now. */
  problem: string | undefined;
  /** Incremented for each opened file. A new number invalidates everything known about the previous file. */
  opened = 0;

  constructor(path: string, origin: () => string) {
    this.#path = path;
    this.#origin = origin;
  }

  /**
   * Runs `work` on the open index. @returns `undefined` if the index cannot be used; `problem` then has the reason,
   * and the caller reads the transcripts instead.
   */
  use<T>(work: () => T): T | undefined {
    try {
      this.#ensureOpen();
      const result = work();
      this.problem = undefined;
      return result;
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  /**
   * Runs `work` in a transaction. @returns `undefined` if it failed, for example because another process is writing.
   */
  write<T>(work: () => T): T | undefined {
    return this.use(() => {
      this.sql('BEGIN IMMEDIATE').run();
      try {
        const result = work();
        this.sql('COMMIT').run();
        this.#isLogged = true;
        return result;
      } catch (error) {
        if (this.#db?.isTransaction === true) this.#db.exec('ROLLBACK');
        throw error;
      }
    });
  }

  sql(text: string): StatementSync {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      if (this.#db === undefined) throw new Error('search.db is not open');
      statement = this.#db.prepare(text);
      this.#statements.set(text, statement);
    }
    return statement;
  }

  run(text: string, ...values: SQLInputValue[]): number {
    return Number(this.sql(text).run(...values).lastInsertRowid);
  }

  row<T>(text: string, ...values: SQLInputValue[]): T | undefined {
    return this.sql(text).get(...values) as T | undefined;
  }

  rows<T>(text: string, ...values: SQLInputValue[]): T[] {
    return this.sql(text).all(...values) as T[];
  }

  /** Size of the write-ahead log. */
  get logBytes(): number {
    return statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Copies the log into the database as far as no reader blocks it. Call it outside a transaction. */
  settleLog(): void {
    if (!this.#isLogged) return;
    const now = this.use(() => this.row<Checkpoint>('PRAGMA wal_checkpoint(PASSIVE)'));
    // Pages that a reader still uses are left for the next call.
    this.#isLogged = now === undefined || now.busy !== 0 || now.log !== now.checkpointed;
  }

  /** Truncates the log, so that it keeps no deleted text. Call it outside a transaction. */
  emptyLog(): void {
    this.use(() => this.sql('PRAGMA wal_checkpoint(TRUNCATE)').all());
  }

  /**
   * Deletes the index. Side files go first: another process that has the files open keeps working on the deleted
   * ones.
   */
  discard(): void {
    this.close();
    try {
      for (const suffix of [...SIDE_FILES, '']) rmSync(this.#path + suffix, { force: true });
    } catch (error) {
      this.problem = String(error);
    }
  }

  close(): void {
    this.#statements = new Map();
    if (this.#db?.isOpen === true) this.#db.close();
    this.#db = undefined;
    this.#isLogged = false;
  }

  #ensureOpen(): void {
    if (this.#db !== undefined) {
      const found = filesAt(this.#path);
      if (found.every((id, i) => id === this.#files[i])) return;
      // A database without its log is unreliable. A database that another process replaced is opened instead.
      if (found[0] === this.#files[0]) this.discard();
      else this.close();
    }
    if (this.#open()) return;
    this.discard();
    if (!this.#open()) throw new Error('search.db is replaced over and over');
  }

  /** Opens the file. @returns false if its content cannot be used. */
  #open(): boolean {
    keepPrivate(this.#path);
    const db = new DatabaseSync(this.#path, { timeout: BUSY_MS });
    this.#db = db;
    this.opened++;
    db.exec(
      `PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-8192; PRAGMA secure_delete=ON;
       PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=${LOG_KEPT_BYTES}`,
    );
    const isOurs = this.#claim(db);
    this.#files = filesAt(this.#path);
    return isOurs;
  }

  #claim(db: DatabaseSync): boolean {
    const origin = this.#origin();
    db.exec('BEGIN IMMEDIATE');
    try {
      if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get() === undefined) {
        db.exec(SCHEMA);
        const put = db.prepare('INSERT INTO meta VALUES (?, ?)');
        put.run('version', String(VERSION));
        put.run('origin', origin);
        put.run('expelled', '0');
      }
      const meta = db.prepare('SELECT value FROM meta WHERE name = ?');
      const version = Number(meta.get('version')?.['value']);
      if (version > VERSION) throw new Error(`search.db has version ${version}, this one knows ${VERSION}`);
      return version === VERSION && meta.get('origin')?.['value'] === origin;
    } finally {
      if (db.isTransaction) db.exec('COMMIT');
    }
  }

  #failed(error: unknown): void {
    this.problem = (error as Error).message;
    // Tables of another shape count as damage too.
    const { errcode } = error as { errcode?: number };
    if (isDamage(error) || errcode === SQLITE_ERROR) this.discard();
    else if (!isBusy(error)) this.close();
  }
}

function isBusy(error: unknown): boolean {
  const { errcode = 0 } = error as { errcode?: number };
  return (errcode & 0xff) === 5;
}

function filesAt(path: string): string[] {
  return ['', ...SIDE_FILES].map((suffix) => identityOf(path + suffix));
}

/** A replacement file often gets the same inode, but hardly ever the same birth time. */
export function originOf(path: string): string {
  const { dev, ino, birthtimeMs } = statSync(path);
  return `${dev}:${ino}:${birthtimeMs}`;
}
