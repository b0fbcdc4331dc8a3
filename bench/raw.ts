import { closeSync, fdatasync, fdatasyncSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAll } from './payload.ts';

const syncLater = promisify(fdatasync);
const LF = 10;

/** Plain append-only files: what the operating system can do without an index. */
export class RawFiles implements Disposable {
  readonly #descriptors: readonly number[];

  constructor(folder: string, name: string, count: number) {
    this.#descriptors = Array.from({ length: count }, (_, i) =>
      openSync(join(folder, `${name}-${i}.raw`), 'a'),
    );
  }

  /** Written and on the disk when it returns. */
  append(bytes: Buffer): void {
    const fd = this.#descriptor(0);
    writeSync(fd, bytes);
    fdatasyncSync(fd);
  }

  /** The same for one of many files; the disk may work on several at once. */
  async appendTo(file: number, bytes: Buffer): Promise<void> {
    const fd = this.#descriptor(file);
    writeSync(fd, bytes);
    await syncLater(fd);
  }

  [Symbol.dispose](): void {
    for (const fd of this.#descriptors) closeSync(fd);
  }

  #descriptor(file: number): number {
    const fd = this.#descriptors[file];
    if (fd === undefined) throw new RangeError(`no file ${file}`);
    return fd;
  }
}

export interface ByteRange {
  readonly path: string;
  readonly from: number;
  readonly to: number;
}

export function wholeFile(path: string): ByteRange {
  return { path, from: 0, to: statSync(path).size };
}

/** Where the last `count` lines of a file stand. */
export function lastLines(path: string, count: number): ByteRange {
  const { to } = wholeFile(path);
  for (let room = 64 * 1024; ; room *= 4) {
    const start = Math.max(0, to - room);
    const bytes = readBytes({ path, from: start, to });
    let at = bytes.length - 1;
    for (let line = 0; line < count && at > 0; line++) at = bytes.lastIndexOf(LF, at - 1);
    if (at > 0) return { path, from: start + at + 1, to };
    if (start === 0) return { path, from: 0, to };
  }
}

export function readAndParse(range: ByteRange): unknown[] {
  return parseAll(readBytes(range));
}

function readBytes({ path, from, to }: ByteRange): Buffer {
  const fd = openSync(path, 'r');
  try {
    const bytes = Buffer.allocUnsafe(to - from);
    let done = 0;
    while (done < bytes.length) {
      const count = readSync(fd, bytes, done, bytes.length - done, from + done);
      if (count === 0) break;
      done += count;
    }
    return bytes.subarray(0, done);
  } finally {
    closeSync(fd);
  }
}
