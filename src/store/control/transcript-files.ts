import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const { O_RDWR, O_RDONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_EXCL, O_WRONLY, O_NONBLOCK } = constants;
const MAX_OPEN = 256;
const LF = 10;

/**
 * The transcript files of a home. Ids were checked when their session was made, so a path is never built from
 * anything else (I-12); links are not followed, folders are 0700 and files 0600 (P8).
 */
export class TranscriptFiles {
  readonly #home: string;
  /** Least recently used first. */
  readonly #open: Map<string, number> = new Map();

  constructor(home: string) {
    this.#home = home;
  }

  path(agentId: string, sessionId: string): string {
    return join(this.#home, 'agents', agentId, 'sessions', `${sessionId}.jsonl`);
  }

  size(agentId: string, sessionId: string): number {
    const path = this.path(agentId, sessionId);
    const fd = this.#open.get(path);
    if (fd !== undefined) return sizeOf(fd);
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** To tell whether a file is still the one it was. */
  stamp(
    agentId: string,
    sessionId: string,
  ): { readonly inode: number; readonly size: number; readonly changedAt: number } | undefined {
    const stat = statSync(this.path(agentId, sessionId), { throwIfNoEntry: false });
    return stat === undefined ? undefined : { inode: stat.ino, size: stat.size, changedAt: stat.mtimeMs };
  }

  /** A descriptor for appending. The folder of a new file is synced, or the file could vanish in a power cut. */
  descriptor(path: string): number {
    const known = this.#open.get(path);
    if (known !== undefined) {
      this.#open.delete(path);
      this.#open.set(path, known);
      return known;
    }
    const fd = openOrCreate(path);
    this.#open.set(path, fd);
    if (this.#open.size > MAX_OPEN) {
      const [oldest] = this.#open.keys();
      if (oldest !== undefined) this.forget(oldest);
    }
    return fd;
  }

  /** Writes the same bytes once more where they stand; a descriptor for appending could only append. */
  writeInPlace(agentId: string, sessionId: string, offset: number, bytes: Buffer): void {
    const fd = openSync(this.path(agentId, sessionId), O_WRONLY | O_NOFOLLOW);
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

  remove(path: string): void {
    this.forget(path);
    rmSync(path, { force: true });
    syncFolder(dirname(path));
  }

  /** Keeps bytes that are not ours and not readable; nothing is thrown away (P3). */
  quarantine(name: string, bytes: Buffer): void {
    const folder = join(this.#home, 'quarantine');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (let n = 0; ; n++) {
      try {
        const fd = openSync(join(folder, `${name}.${n}`), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
        writeAll(fd, bytes);
        fsyncSync(fd);
        closeSync(fd);
        return;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    }
  }

  close(): void {
    for (const path of [...this.#open.keys()]) this.forget(path);
  }
}

function openOrCreate(path: string): number {
  try {
    return plainFile(openSync(path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const fd = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  for (let folder = dirname(path), i = 0; i < 4; folder = dirname(folder), i++) syncFolder(folder);
  return fd;
}

/** A pipe or a device in the place of a transcript would make a write wait for ever, with the lock in its hand. */
function plainFile(fd: number): number {
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw Object.assign(new Error('the transcript is not a plain file'), { code: 'ENOTSUP', syscall: 'open' });
}

export function syncFolder(path: string): void {
  const fd = openSync(path, O_RDONLY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** On a full disk the kernel reports a short count and no error; the next try then says ENOSPC. */
export function writeAll(fd: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done);
}

/** A last line that is complete but for its LF gets it, or the next one would be glued on. */
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
