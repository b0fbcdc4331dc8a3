import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { reportLogDamage } from '../jsonl/log-damage.ts';
import { noteName, salvagedName } from '../jsonl/recovery/beside.ts';
import { replaceBySalvaged } from '../jsonl/recovery/salvage-file.ts';
import { mayBeWritten, nap } from '../jsonl/side-files.ts';
import { onlyRead } from '../rules/refusals.ts';
import { BUSY_LIMIT_MS, Database } from './database.ts';
import { keepPrivate } from './home.ts';
import { isSurveyed, meta } from './identity.ts';
import { hasOurColumns, prepareSchema } from './migrate.ts';
import { SCHEMA_VERSION } from './schema.ts';
import { damage, isDamage, storeError } from './store-error.ts';
import type { ThreadOptions } from './threads/protocol.ts';

export interface ControlFile {
  readonly db: Database;
  /** Set if the database must not be written; the error answers every write. */
  readonly refusal?: RepriseError;
}

export type ControlOptions = Pick<ThreadOptions, 'path' | 'home' | 'durability'>;

const LOCK_WAIT_MS = 60_000;
const SQLITE_ERROR = 1;
const BUSY = 5;
const CANNOT_OPEN = 14;

/**
 * Opens control.db for writing, in whatever state it is: creates a missing one, migrates an older one, and sets a
 * damaged one aside and salvages it. None of this reads a transcript.
 */
export function openControl(options: ControlOptions): ControlFile {
  const { path } = options;
  if (path === ':memory:') {
    const db = new Database(options);
    prepareSchema(db, options);
    return { db };
  }
  try {
    if (!existsSync(salvagedName(path))) return openPatiently(options);
  } catch (error) {
    // The file may be missing for a moment while another process replaces it.
    if (!isUnsound(error) && codeOf(error) !== CANNOT_OPEN) throw storeError(error, 'none', path);
  }
  alone(path, () => {
    try {
      // Another process may have finished the replacement first.
      openPatiently(options).db.close();
      rmSync(salvagedName(path), { force: true });
    } catch (error) {
      if (!isUnsound(error)) throw storeError(error, 'none', path);
      replaceBySalvaged(options, salvagedName(path));
      rmSync(noteName(path), { force: true });
    }
  });
  return openPatiently(options);
}

/**
 * Retries while another process creates the file: SQLite then reports "busy" without waiting, because it suspects a
 * deadlock.
 */
function openPatiently(options: ControlOptions): ControlFile {
  const deadline = performance.now() + BUSY_LIMIT_MS;
  for (;;) {
    try {
      return openSound(options);
    } catch (error) {
      if ((codeOf(error) ?? 0) % 256 !== BUSY || performance.now() > deadline) throw error;
      nap();
    }
  }
}

/** True if the file is damaged, or if its tables do not match our queries; a changed byte in a name causes that. */
function isUnsound(error: unknown): boolean {
  return isDamage(error) || codeOf(error) === SQLITE_ERROR;
}

/** SQLite's result code, also of a translated error. */
function codeOf(error: unknown): number | undefined {
  const { cause = error } = error as { cause?: unknown };
  return (cause as { errcode?: number }).errcode;
}

/** Records that damage was found: the next open checks every page before the database is used. */
export function noteDamage(path: string, error: unknown): void {
  if (path === ':memory:' || !isDamage(error)) return;
  try {
    closeSync(openSync(noteName(path), 'a', 0o600));
  } catch {
    // The disk accepts no new file. The next time the damage is found, it is recorded again.
  }
}

function openSound(options: ControlOptions): ControlFile {
  const { path } = options;
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const logSize = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  // SQLite would delete a log without its database, and the last acknowledged writes may exist only there.
  if (size === 0 && (logSize > 0 || existsSync(salvagedName(path)))) throw damage('gone');
  keepPrivate(path);
  reportLogDamage(path);
  const version = size === 0 ? 0 : versionOf(path);
  if (version > SCHEMA_VERSION) return openNewer(options, version);
  const db = new Database(options);
  try {
    prepareSchema(db, options);
    if (existsSync(noteName(path))) {
      assertWhole(db);
      rmSync(noteName(path), { force: true });
    }
    return { db };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Read before anything is changed: this version must not modify a database that a newer version wrote. */
function versionOf(path: string): number {
  const db = new Database({ path, durability: 'os', readOnly: true, isFirst: true });
  try {
    if (db.row("SELECT 1 FROM sqlite_schema WHERE name = 'meta'") === undefined) return 0;
    return Number(meta(db, 'schema'));
  } finally {
    db.close();
  }
}

function assertWhole(db: Database): void {
  const found = db.row<{ integrity_check: string }>('PRAGMA integrity_check(1)')?.integrity_check;
  if (found !== 'ok') throw damage('pages', found);
}

function openNewer({ path, durability }: ControlOptions, version: number): ControlFile {
  const db = new Database({ path, durability, readOnly: true, isFirst: true });
  try {
    if (hasOurColumns(db)) return { db, refusal: newer(version, true) };
  } catch (error) {
    db.close();
    throw error;
  }
  db.close();
  throw newer(version, false);
}

function newer(schema: number, canRead: boolean): RepriseError {
  return failure(
    'STORE_NEWER',
    'store.newer',
    { schema, known: SCHEMA_VERSION, canRead },
    { details: { schema } },
  );
}

/** Opens the database read-only and unchanged: nothing is created, migrated or salvaged. */
export function openAsItIs({ path, home, durability }: ControlOptions): ControlFile {
  if (!existsSync(path)) {
    throw failure('NOT_FOUND', 'store.missing', { file: path });
  }
  const version = versionOf(path);
  if (version > SCHEMA_VERSION) return openNewer({ path, durability }, version);
  const db = new Database({ path, durability, readOnly: true, isFirst: true });
  try {
    if (version < SCHEMA_VERSION) throw unsettled(path, 'older');
    if (home !== undefined) assertSettled(db, path);
    return { db, refusal: mayBeWritten(path) ? onlyRead() : notWritable(path) };
  } catch (error) {
    db.close();
    throw error;
  }
}

function notWritable(path: string): RepriseError {
  return failure('STORE_READ_ONLY', 'store.folderReadOnly', { folder: dirname(path) });
}

/**
 * Refuses a database that needs a writer first: transcript files that miss committed lines, or files that were not
 * read yet.
 */
function assertSettled(db: Database, path: string): void {
  const open = [
    'SELECT 1 FROM journal LIMIT 1',
    'SELECT 1 FROM sessions WHERE seq = 0 LIMIT 1',
    'SELECT 1 FROM convlog_chats WHERE unread = 1 LIMIT 1',
  ];
  if (!isSurveyed(db) || open.some((sql) => db.row(sql) !== undefined)) throw unsettled(path, 'unfinished');
}

function unsettled(file: string, problem: 'older' | 'unfinished'): RepriseError {
  const code = problem === 'older' ? 'STORE_READ_ONLY' : 'STORE_BUSY';
  return failure(code, 'store.unsettled', { file, problem, canWrite: mayBeWritten(file) });
}

/** Runs `work` under an exclusive OS lock, which is released even if the process dies. */
function alone(path: string, work: () => void): void {
  const file = `${path}.salvage-lock`;
  keepPrivate(file);
  const lock = new DatabaseSync(file, { timeout: LOCK_WAIT_MS });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    work();
  } finally {
    // Keep the empty file. If it were removed, waiting processes would hold a lock on a deleted file.
    lock.close();
  }
}
