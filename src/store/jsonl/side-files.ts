import { accessSync, closeSync, constants, openSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';

const BUSY = 5;
const NONE = 'none';
/** Every process checks its files ten times a second; after this time all have noticed a change. */
const NOTICED_MS = 1000;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** A short random sleep, so that several waiting processes do not stay in step. */
export function nap(): void {
  Atomics.wait(sleeper, 0, 0, 0.5 + Math.random());
}

export function isBusy(error: unknown): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === BUSY;
}

export function movedError(outcome: 'none' | 'unknown'): RepriseError {
  return failure('STORE_MOVED', 'store.moved', {}, { outcome });
}

type Place = 'here' | 'moved' | 'gone';

type Connect = (how: { readonly isSealed: boolean }) => DatabaseSync;

/**
 * The files that one connection works on: the database, its log (-wal) and the shared memory of its processes (-shm).
 *
 * SQLite's locks are in -shm. If it is removed, the next process creates another one and becomes a second writer. The
 * lock that every connection holds on the database file itself still works then. Hence one rule: a process may create
 * side files only after it has proved that no other process has the database open. Processes whose side files were
 * removed still exclude each other. They copy their log into the database, leave, and reconnect with new files when
 * all have left; nothing is lost, and no process writes outside the shared files (docs/decisions/0005).
 */
export class SideFiles {
  readonly #path: string;
  readonly #readOnly: boolean;
  /** Whether this reader waits for the writer of its process; false if it may open before one. */
  readonly #waitsForWriter: boolean;
  /** Inodes of the open files. They are in use while the connection is open, so no other file can have them. */
  #mine: readonly string[] = [];
  /**
   * The state of a database that was opened as unchanging, to notice a writer that came and left between two checks.
   */
  #sealed: string | undefined;
  /**
   * Side files that may have been created while another process used different ones; do not use them before `until`.
   */
  #strangers: { readonly files: string; readonly until: number } = { files: '', until: 0 };
  #diverged: RepriseError | undefined;

  constructor(
    path: string,
    { readOnly, isFirst }: { readonly readOnly: boolean; readonly isFirst: boolean },
  ) {
    this.#path = path;
    this.#readOnly = readOnly;
    this.#waitsForWriter = readOnly && !isFirst;
  }

  /** `gone`: the database itself was removed or replaced, so there is nothing to reconnect to. */
  place(): Place {
    const found = idsAt(this.#path);
    if (found[0] !== this.#mine[0]) return 'gone';
    if (this.#sealed !== undefined && stampOf(this.#path) !== this.#sealed) return 'moved';
    return isSame(found, this.#mine) ? 'here' : 'moved';
  }

  /** Connects to files that all processes share; throws if that is not possible in time. */
  open(connect: Connect, waitMs: number): DatabaseSync {
    // The first attempt nearly always succeeds, so a process that has not used a clock yet need not load one.
    let deadline: number | undefined;
    for (;;) {
      const result = this.#tryOpen(connect);
      if (result instanceof DatabaseSync) return result;
      deadline ??= performance.now() + waitMs;
      if (performance.now() >= deadline) throw result;
      nap();
    }
  }

  /** @returns a connection, or the reason why none is possible yet. */
  #tryOpen(connect: Connect): unknown {
    if (this.#diverged !== undefined) throw this.#diverged;
    const before = idsAt(this.#path);
    if (this.#mine[0] !== undefined && before[0] !== this.#mine[0]) throw movedError('none');
    const { files, until } = this.#strangers;
    const isStrange = until > 0 && performance.now() < until && birthsOf(this.#path) === files;
    const areShared = !before.includes(NONE) && !isStrange;
    this.#sealed = undefined;
    if (this.#readOnly && isSealed(this.#path)) {
      this.#mine = before;
      this.#sealed = stampOf(this.#path);
      return connect({ isSealed: true });
    }
    if (!areShared && this.#waitsForWriter) return stillInUse(this.#path);
    let db: DatabaseSync | undefined;
    let failure: unknown;
    try {
      if (!areShared) proveAlone(this.#path);
      db = connect({ isSealed: false });
    } catch (error) {
      failure = error;
    }
    const after = idsAt(this.#path);
    const isAsSeen = areShared ? isSame(before, after) : !after.includes(NONE);
    if (db !== undefined && isAsSeen) {
      this.#mine = after;
      return db;
    }
    // Removed between two checks. The current side files belong to others who reconnected, or we created them while
    // those still work; they notice it, leave, and have the files removed.
    if (areShared && !isAsSeen)
      this.#strangers = { files: birthsOf(this.#path), until: performance.now() + NOTICED_MS };
    db?.close();
    if (failure === undefined || (areShared && !isAsSeen)) return stillInUse(this.#path);
    if (!isBusy(failure)) throw failure;
    return areShared ? failure : stillInUse(this.#path);
  }

  /**
   * Closes a connection whose side files are gone, after copying its log into the database. @returns false if that
   * failed; the connection then still holds the only copy of its writes.
   */
  leave(db: DatabaseSync, waitMs: number): boolean {
    if (this.#readOnly && this.#mine[1] === NONE) {
      // The database was opened as unchanging. A writer has come and created side files properly, or has left again.
      db.close();
      return true;
    }
    const [, wal, shm] = idsAt(this.#path);
    // Created while we have the database open, so by a program that does not follow the rule.
    this.#strangers = { files: birthsOf(this.#path), until: Number.POSITIVE_INFINITY };
    if (this.#readOnly) {
      db.close();
    } else if (wal === this.#mine[1] && shm !== NONE) {
      // Our log has its name again and another process has an index of it: the next process reads it whole, so we
      // copy nothing.
      this.#closeQuietly(db);
    } else if (wal !== NONE && wal !== this.#mine[1] && sizeOf(`${this.#path}-wal`) > 0) {
      // Another process wrote without the content of our log: there are two histories, and SQLite cannot merge them.
      this.#diverged = setAside(db, this.#path);
      this.#closeQuietly(db);
    } else {
      if (!copyLog(db, waitMs)) return false;
      db.close();
    }
    return true;
  }

  /**
   * Closes without the copy that SQLite makes when the last connection closes. That copy needs the exclusive lock,
   * which a read-only connection of this process prevents.
   */
  #closeQuietly(db: DatabaseSync): void {
    const witness = new DatabaseSync(this.#path, { readOnly: true });
    try {
      witness.prepare('SELECT count(*) FROM sqlite_schema').get();
    } catch {
      // The connection may find the log of others; it is only needed for its lock on the database.
    }
    db.close();
    witness.close();
  }
}

/**
 * Throws SQLITE_BUSY while another process has the database open: an exclusive connection locks the file itself, and
 * neither needs nor creates -shm. It recovers the log that a crash left. It also switches the database to WAL mode
 * durably, because the first process may have died before it did, or the file is a copy made by `VACUUM INTO`. A
 * read-only connection cannot switch it and would wait forever for side files that no connection creates.
 */
function proveAlone(path: string): void {
  // Without write permission this process cannot create a second writer: the database is only read, and a first write
  // reconnects.
  if (!mayWrite(path)) return;
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    db.exec('PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; BEGIN EXCLUSIVE; COMMIT');
  } finally {
    db.close();
  }
}

/**
 * True if no process has the database open and side files cannot or should not be created beside it. Without side
 * files SQLite cannot read a database with a log, so it is opened as unchanging. A writer creates side files first,
 * which is noticed, and so are the changes of a writer that came and left.
 */
function isSealed(path: string): boolean {
  const [database, ...sides] = idsAt(path);
  return database !== NONE && sides.every((id) => id === NONE) && !mayBeWritten(path);
}

/** Whether both the file and its folder, where the side files are created, are writable. */
export function mayBeWritten(path: string): boolean {
  return mayWrite(path) && mayWrite(dirname(path));
}

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch (error) {
    // A missing file is about to be created.
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/**
 * Copies the log into the database and syncs it. @returns false if other connections prevented that until the limit.
 */
export function copyLog(db: DatabaseSync, waitMs: number): boolean {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const { busy, log, checkpointed } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as {
      busy: number;
      log: number;
      checkpointed: number;
    };
    // Readers prevent emptying the log, but not copying it.
    if (busy === 0 || (log >= 0 && log === checkpointed)) return true;
    if (performance.now() >= deadline) return false;
    nap();
  }
}

/** Like `copyLog`, but also empties the log, so it waits for connections that still read the log. */
export function emptyLog(db: DatabaseSync, waitMs: number): boolean {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const { busy } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number };
    if (busy === 0) return true;
    if (performance.now() >= deadline) return false;
    nap();
  }
}

/**
 * Saves the whole store as this connection sees it. Creates the file privately first, because SQLite would make it
 * readable for all users.
 */
function setAside(db: DatabaseSync, path: string): RepriseError {
  const copy = `${path}.${new Date().toISOString().replace(/[:.]/g, '-')}.${process.pid}`;
  try {
    closeSync(openSync(copy, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(copy);
    return diverged({ copy }, copy);
  } catch (error) {
    // Try only once: repeating it ten times a second does not help a full disk.
    rmSync(copy, { force: true });
    return diverged({ copyFailed: String(error) }, null);
  }
}

function diverged(details: Record<string, string>, copy: string | null): RepriseError {
  return failure('STORE_MOVED', 'store.diverged', { copy }, { outcome: 'none', details });
}

function stillInUse(path: string): RepriseError {
  return failure('STORE_MOVED', 'store.stillOpen', { file: path }, { outcome: 'none' });
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function idsAt(path: string): readonly string[] {
  return ['', '-wal', '-shm'].map((suffix) => {
    const stat = statSync(path + suffix, { throwIfNoEntry: false });
    return stat === undefined ? NONE : `${stat.dev}:${stat.ino}`;
  });
}

/** Changes with every writer that changed the database and left. */
function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? NONE : `${stat.size}:${stat.mtimeNs}`;
}

/** Inode numbers are reused after a file is deleted; with the birth time they identify a file permanently. */
function birthsOf(path: string): string {
  return ['-wal', '-shm']
    .map((suffix) => {
      const stat = statSync(path + suffix, { throwIfNoEntry: false, bigint: true });
      return stat === undefined ? NONE : `${stat.dev}:${stat.ino}:${stat.birthtimeNs}`;
    })
    .join();
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.every((id, i) => id === b[i]);
}
