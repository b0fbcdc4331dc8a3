import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { resolveSessionTranscriptPath, resolveSessionTranscriptsDir } from '../port/home-paths.ts';

const { O_RDWR, O_RDONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_EXCL, O_WRONLY, O_NONBLOCK } = constants;
const MAX_OPEN = 256;
const LF = 10;
const OPEN_TO_OTHERS = 0o077;

/** What exists at the path of a transcript. */
export type Standing =
  /** `replaced`: another file than the one this process read before. */
  | { readonly kind: 'file'; readonly size: number; readonly replaced: boolean }
  | { readonly kind: 'none' }
  | { readonly kind: 'other'; readonly what: 'link' | 'folder' | 'device'; readonly code: string };

/**
 * The transcript files of a home. Paths are built only from ids that were checked when their session was created
 * (I-12). Links are not followed; folders have mode 0700 and files 0600 (P8).
 */
export class TranscriptFiles {
  readonly #home: string;
  /** In order of use, the least recently used first. */
  readonly #open: Map<string, number> = new Map();
  /** Device and inode of every file that this process has opened. */
  readonly #known: Map<string, string> = new Map();

  constructor(home: string) {
    this.#home = home;
  }

  path(agentId: string, sessionId: string): string {
    return resolveSessionTranscriptPath({ home: this.#home, agentId, sessionId });
  }

  /** The folder with the large parts of a session's lines. */
  blobFolder(agentId: string, sessionId: string): string {
    return join(resolveSessionTranscriptsDir({ home: this.#home, agentId }), `${sessionId}.blobs`);
  }

  /**
   * Checks the path instead of the descriptor: an editor saves by creating a new file, and appending to the old one
   * would be lost. A descriptor of a replaced file is closed.
   */
  look(path: string): Standing {
    const found = standingAt(path);
    const known = this.#known.get(path);
    if (found.kind !== 'file') {
      this.forget(path);
      return found;
    }
    const replaced = known !== undefined && known !== found.identity;
    if (replaced) this.forget(path);
    return { kind: 'file', size: found.size, replaced };
  }

  /** Identifies the file's state, to detect changes. */
  stamp(
    agentId: string,
    sessionId: string,
  ): { readonly inode: number; readonly size: number; readonly changedAt: number } | undefined {
    const stat = statSync(this.path(agentId, sessionId), { throwIfNoEntry: false });
    return stat === undefined ? undefined : { inode: stat.ino, size: stat.size, changedAt: stat.mtimeMs };
  }

  /** Whether the file of the descriptor is still at its path. */
  isInPlace(path: string): boolean {
    const found = standingAt(path);
    return found.kind === 'file' && found.identity === this.#known.get(path);
  }

  /**
   * Opens a file for appending. A missing file is created only if `create` is set. Sync its folders before its journal
   * rows are deleted, or the file could vanish in a power cut.
   */
  descriptor(path: string, { create }: { readonly create: boolean }): number {
    const known = this.#open.get(path);
    if (known !== undefined) {
      this.#open.delete(path);
      this.#open.set(path, known);
      return known;
    }
    const fd = openTranscript(path, create);
    this.#open.set(path, fd);
    this.#known.set(path, identityOf(fstatSync(fd)));
    if (this.#open.size > MAX_OPEN) {
      const [oldest] = this.#open.keys();
      if (oldest !== undefined) this.forget(oldest);
    }
    return fd;
  }

  /** Makes the names of an agent's transcripts durable: their folder and the folders above it, up to the home. */
  syncFolders(agentId: string): void {
    let folder = resolveSessionTranscriptsDir({ home: this.#home, agentId });
    for (let i = 0; i < 4; folder = dirname(folder), i++) syncFolder(folder);
  }

  /** Writes the same bytes again at their offset; a descriptor opened for appending cannot do that. */
  writeInPlace(agentId: string, sessionId: string, offset: number, bytes: Buffer): void {
    const fd = openPlain(this.path(agentId, sessionId), O_WRONLY);
    try {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(fd, bytes, done, bytes.length - done, offset + done);
      }
    } finally {
      closeSync(fd);
    }
  }

  forget(path: string): void {
    const fd = this.#open.get(path);
    if (fd === undefined) return;
    this.#open.delete(path);
    closeSync(fd);
  }

  /** Removes blobs first: while the transcript exists, the next process sees that something is left to remove. */
  remove(agentId: string, sessionId: string): void {
    const path = this.path(agentId, sessionId);
    this.forget(path);
    this.#known.delete(path);
    rmSync(this.blobFolder(agentId, sessionId), { recursive: true, force: true });
    // Reprise never creates a folder there, so it is left alone.
    const isFolder = lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    if (!isFolder) rmSync(path, { force: true });
    if (existsSync(dirname(path))) syncFolder(dirname(path));
  }

  /** Saves unreadable bytes that are not ours; nothing is deleted (P3). @returns the name of the saved file. */
  quarantine(name: string, bytes: Buffer): string {
    const folder = join(this.#home, 'quarantine');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (let n = 0; ; n++) {
      try {
        const fd = openSync(join(folder, `${name}.${n}`), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
        writeAll(fd, bytes);
        fsyncSync(fd);
        closeSync(fd);
        return `${name}.${n}`;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    }
  }

  close(): void {
    for (const path of [...this.#open.keys()]) this.forget(path);
  }
}

function openTranscript(path: string, create: boolean): number {
  try {
    return keepPrivate(openPlain(path, O_RDWR | O_APPEND));
  } catch (error) {
    if (!create || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if ((statSync(folder).mode & OPEN_TO_OTHERS) !== 0) chmodSync(folder, 0o700);
  const fd = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  return fd;
}

/**
 * Opens a path if it is a plain file. Links are not followed; a pipe or device in place of a file would block forever
 * while holding the lock.
 */
export function openPlain(path: string, flags: number = O_RDONLY): number {
  const fd = openSync(path, flags | O_NOFOLLOW | O_NONBLOCK);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw Object.assign(new Error(`${path} is not a plain file`), { code: 'ENOTSUP', syscall: 'open' });
}

/** Makes a transcript private that another program created or a lax umask left readable. */
function keepPrivate(fd: number): number {
  const { mode, uid } = fstatSync(fd);
  if ((mode & OPEN_TO_OTHERS) !== 0 && uid === process.getuid?.()) fchmodSync(fd, 0o600);
  return fd;
}

export function standingAt(path: string): Standing & { readonly identity?: string } {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return { kind: 'none' };
  if (found.isFile()) return { kind: 'file', size: found.size, replaced: false, identity: identityOf(found) };
  if (found.isSymbolicLink()) return { kind: 'other', what: 'link', code: 'ELOOP' };
  if (found.isDirectory()) return { kind: 'other', what: 'folder', code: 'EISDIR' };
  return { kind: 'other', what: 'device', code: 'ENOTSUP' };
}

const identityOf = ({ dev, ino }: { readonly dev: number; readonly ino: number }): string => `${dev}:${ino}`;

export function syncFolder(path: string): void {
  const fd = openSync(path, O_RDONLY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** On a full disk the kernel reports a short count without an error; the next attempt then fails with ENOSPC. */
export function writeAll(fd: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done);
}

/** Adds the LF to a last line that lacks only that, or the next line would be joined to it. */
export function endLine(fd: number): void {
  const size = sizeOf(fd);
  if (size > 0 && readRange(fd, size - 1, size)[0] !== LF) writeAll(fd, Buffer.from('\n'));
}

export function readRange(fd: number, from: number, to: number): Buffer {
  const bytes = Buffer.allocUnsafe(Math.max(0, to - from));
  let done = 0;
  while (done < bytes.length) {
    const count = readSync(fd, bytes, done, bytes.length - done, from + done);
    if (count === 0) break;
    done += count;
  }
  return bytes.subarray(0, done);
}

export function sizeOf(fd: number): number {
  return fstatSync(fd).size;
}

export function truncate(fd: number, size: number): void {
  ftruncateSync(fd, size);
}

export function syncData(fd: number): void {
  fdatasyncSync(fd);
}

/**
 * Another program changed the file between two checks: nothing is recorded, and the next attempt compares every byte.
 */
export function changedMeanwhile(): Error {
  return Object.assign(new Error('the transcript changed while it was written'), {
    code: 'EAGAIN',
    syscall: 'write',
  });
}
