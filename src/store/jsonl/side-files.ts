import { accessSync, closeSync, constants, openSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { RepriseError } from '../../errors.ts';

const BUSY = 5;
const NONE = 'none';
/** Everybody looks after their files ten times a second; by then all have noticed. */
const NOTICED_MS = 1000;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** A short sleep with jitter, so that several who wait do not keep meeting. */
export function nap(): void {
  Atomics.wait(sleeper, 0, 0, 0.5 + Math.random());
}

export function isBusy(error: unknown): boolean {
  return ((error as { errcode?: number }).errcode ?? 0) % 256 === BUSY;
}

export function movedError(outcome: 'none' | 'unknown', details: Record<string, unknown> = {}): RepriseError {
  return new RepriseError(
    'STORE_MOVED',
    'the files of the store were removed or replaced while it was open',
    {
      outcome,
      details,
    },
  );
}

type Place = 'here' | 'moved' | 'gone';

type Connect = (how: { readonly isSealed: boolean }) => DatabaseSync;

/**
 * The files one connection works on: the database, its log (-wal) and the memory its processes share (-shm).
 * SQLite's locks live in -shm. With it removed, whoever comes next makes another one and is a second writer. What
 * still counts then is the lock that every connection holds on the database file itself, and so there is one rule:
 * side files are made only by a process that has proved that nobody has the database open. Those who find theirs
 * removed are still in order among themselves. They copy their log into the database, leave, and come back to new
 * files when all have left; nothing is lost, and nobody writes beside them (docs/decisions/0014).
 */
export class SideFiles {
  readonly #path: string;
  readonly #readOnly: boolean;
  /** A reader waits for the writer of its process, unless it comes before one. */
  readonly #waitsForWriter: boolean;
  /** What the connection has open. The inodes are in use as long as it is, so no other file can have them. */
  #mine: readonly string[] = [];
  /** What was read as a file that does not change, as it was then: whoever changes it may come and go between two looks. */
  #sealed: string | undefined;
  /** Files that may have been made while somebody worked on others: not joined before this time. */
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

  /** `gone`: the database itself was removed or replaced, and there is nothing to come back to. */
  place(): Place {
    const found = idsAt(this.#path);
    if (found[0] !== this.#mine[0]) return 'gone';
    if (this.#sealed !== undefined && stampOf(this.#path) !== this.#sealed) return 'moved';
    return isSame(found, this.#mine) ? 'here' : 'moved';
  }

  /** Connects to files that everybody shares, or throws when that was not possible in time. */
  open(connect: Connect, waitMs: number): DatabaseSync {
    // Nearly always the first try; a process that has not looked at a clock yet is spared loading one.
    let deadline: number | undefined;
    for (;;) {
      const result = this.#tryOpen(connect);
      if (result instanceof DatabaseSync) return result;
      deadline ??= performance.now() + waitMs;
      if (performance.now() >= deadline) throw result;
      nap();
    }
  }

  /** A connection, or why there is none yet. */
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
    // Removed between two looks. What stands there now is of others who came back to it, or of our own making while
    // they are still at work; these notice, leave and have it removed.
    if (areShared && !isAsSeen)
      this.#strangers = { files: birthsOf(this.#path), until: performance.now() + NOTICED_MS };
    db?.close();
    if (failure === undefined || (areShared && !isAsSeen)) return stillInUse(this.#path);
    if (!isBusy(failure)) throw failure;
    return areShared ? failure : stillInUse(this.#path);
  }

  /**
   * Closes a connection whose side files are gone, once everything it knows stands in the database. Answers
   * whether it could; if not, the connection goes on holding the only copy.
   */
  leave(db: DatabaseSync, waitMs: number): boolean {
    if (this.#readOnly && this.#mine[1] === NONE) {
      // It was sealed when it was opened. Whoever may write has come, and made the files as he should, or has left again.
      db.close();
      return true;
    }
    const [, wal, shm] = idsAt(this.#path);
    // Made while we have the database open, so by somebody who does not know the rule.
    this.#strangers = { files: birthsOf(this.#path), until: Number.POSITIVE_INFINITY };
    if (this.#readOnly) {
      db.close();
    } else if (wal === this.#mine[1] && shm !== NONE) {
      // The log has its name, and somebody else an index of it: whoever comes next reads it whole, we copy nothing.
      this.#closeQuietly(db);
    } else if (wal !== NONE && wal !== this.#mine[1] && sizeOf(`${this.#path}-wal`) > 0) {
      // Somebody has written without what our log says: two histories, and SQLite cannot merge them.
      this.#diverged = movedError('none', setAside(db, this.#path));
      this.#closeQuietly(db);
    } else {
      if (!copyLog(db, waitMs)) return false;
      db.close();
    }
    return true;
  }

  /**
   * Without the copying that SQLite does when the last connection closes: it asks for the exclusive lock, and a
   * connection of this very process denies it, one that is read-only and therefore can never get it itself.
   */
  #closeQuietly(db: DatabaseSync): void {
    const witness = new DatabaseSync(this.#path, { readOnly: true });
    try {
      witness.prepare('SELECT count(*) FROM sqlite_schema').get();
    } catch {
      // It may find the log of others; its lock on the database is all it is for.
    }
    db.close();
    witness.close();
  }
}

/**
 * Throws SQLITE_BUSY while another process has the database open: an exclusive connection locks the file itself, and
 * needs and makes no -shm. It recovers the log that a crash left. It also switches the database to WAL mode, durably:
 * the first process may have died before it did, or the file is a copy made by `VACUUM INTO`. A read-only connection
 * cannot switch it, and would wait forever for side files that no connection makes.
 */
function proveAlone(path: string): void {
  // Where nothing may be written there is nothing to split: it is read, and a first write makes the connection anew.
  if (!mayWrite(path)) return;
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    db.exec('PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; BEGIN EXCLUSIVE; COMMIT');
  } finally {
    db.close();
  }
}

/**
 * Nobody has it open, and side files cannot be made beside it, or would be in the way of whoever may write: without
 * them SQLite reads no database that has a log, so it is read as a file that does not change. A writer makes them first,
 * and that is noticed, as is what one has written who came and left.
 */
function isSealed(path: string): boolean {
  const [database, ...sides] = idsAt(path);
  return database !== NONE && sides.every((id) => id === NONE) && !mayBeWritten(path);
}

/** Both: the file itself, and its folder, where the side files are made. */
export function mayBeWritten(path: string): boolean {
  return mayWrite(path) && mayWrite(dirname(path));
}

function mayWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch (error) {
    // One that is not there yet is about to be made.
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** Everything committed stands in the database and is synced, or somebody kept us from it for that long. */
export function copyLog(db: DatabaseSync, waitMs: number): boolean {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const { busy, log, checkpointed } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as {
      busy: number;
      log: number;
      checkpointed: number;
    };
    // Readers keep the log from being emptied, not from being copied.
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

/** The whole store as this connection knows it. Made private first: SQLite would let everybody read it. */
function setAside(db: DatabaseSync, path: string): Record<string, unknown> {
  const copy = `${path}.${new Date().toISOString().replace(/[:.]/g, '-')}.${process.pid}`;
  try {
    closeSync(openSync(copy, 'wx', 0o600));
    db.prepare('VACUUM INTO ?').run(copy);
    return {
      copy,
      next: 'Another program has written to the database meanwhile. What it lacks is in the copy.',
    };
  } catch (error) {
    // Tried once only: a disk that is full is not made better by trying again ten times a second.
    rmSync(copy, { force: true });
    return { next: 'Another program has written to the database meanwhile.', copyFailed: String(error) };
  }
}

function stillInUse(path: string): RepriseError {
  return new RepriseError('STORE_MOVED', `another process has ${path} open without its -wal or -shm file`, {
    outcome: 'none',
    details: { next: `Let that process end, or end it ("lsof ${path}" names it), and try again.` },
  });
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

/** Of a database whose content is another after every writer that left it. */
function stampOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? NONE : `${stat.size}:${stat.mtimeNs}`;
}

/** Inode numbers are used again once a file is gone; together with its birth one names a file for good. */
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
