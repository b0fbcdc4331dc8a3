import { rmSync, statSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { identityOf } from '../database.ts';
import { keepPrivate } from '../home.ts';
import { isDamage } from '../store-error.ts';

/** Another one is made anew; a greater one belongs to a newer version, which may be running beside us. */
const VERSION = 2;
const BUSY_MS = 100;
const SQLITE_ERROR = 1;
const SIDE_FILES = ['-wal', '-shm'];
/** What a large import made the log grow to is given back when it begins anew: its size says how much is to be settled. */
const LOG_KEPT_BYTES = 16 * 1024 * 1024;

/** Pages in the log, and those of them that are in the database, too. */
interface Checkpoint {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/**
 * Only what finds a text, never the text: `detail=none` and no content. Three characters in a row are found by SQLite's
 * own tokenizer, two and one by a table of pairs (docs/decisions/0043).
 */
const SCHEMA = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
-- How far each session is in the index, and what the line at that place was; below 0: it has to be taken out first.
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
 * search.db: derived from the transcripts, so that it may be removed, damaged or replaced at any time. Whoever finds it
 * unusable throws it away and goes on with an empty one; nothing else is ever lost.
 */
export class SearchFile {
  readonly #path: string;
  /** Which control.db it was made from: in another one the same numbers mean other lines. */
  readonly #origin: () => string;
  #db: DatabaseSync | undefined;
  #files: readonly string[] = [];
  #statements: Map<string, StatementSync> = new Map();
  /** Whether something was written since the log was settled. */
  #isLogged = false;
  /** Why it cannot be used now. */
  problem: string | undefined;
  /** Another number, another file: nothing that was known of the one before holds. */
  opened = 0;

  constructor(path: string, origin: () => string) {
    this.#path = path;
    this.#origin = origin;
  }

  /** Undefined where it cannot be used; then `problem` says why, and everything has to be read. */
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

  /** All or nothing, alone. Undefined where another process is writing, too. */
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

  /** Of what stands in the log and may not be in the database yet. */
  get logBytes(): number {
    return statSync(`${this.#path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Brings what stands in the log into the database, as far as nobody reads there. Not inside a transaction. */
  settleLog(): void {
    if (!this.#isLogged) return;
    const now = this.use(() => this.row<Checkpoint>('PRAGMA wal_checkpoint(PASSIVE)'));
    // What somebody still reads in front of is left for the next time.
    this.#isLogged = now === undefined || now.busy !== 0 || now.log !== now.checkpointed;
  }

  /** Lets nothing stand in the log that is no longer in the database. Not inside a transaction. */
  emptyLog(): void {
    this.use(() => this.sql('PRAGMA wal_checkpoint(TRUNCATE)').all());
  }

  /** Begins again with nothing. Side files go first: once the database has no name nobody is disturbed any more. */
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
      // Without its log a database may say anything. One that was replaced is another's work, and is joined.
      if (found[0] === this.#files[0]) this.discard();
      else this.close();
    }
    if (this.#open()) return;
    this.discard();
    if (!this.#open()) throw new Error('search.db is replaced over and over');
  }

  /** False: it is there, but not of use. */
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
    // Tables of another shape are damage too.
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

/** A file that took the place of another has its number often, its time of birth hardly ever. */
export function originOf(path: string): string {
  const { dev, ino, birthtimeMs } = statSync(path);
  return `${dev}:${ino}:${birthtimeMs}`;
}
