import { createWriteStream } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createInflateRaw } from 'node:zlib';
import { failure } from '../../messages/failure.ts';

export interface ZipEntry {
  /** As the file has it. Only the last part is used, and nothing is written under it. */
  readonly name: string;
  readonly method: number;
  readonly packed: number;
  readonly bytes: number;
  readonly offset: number;
}

const END = 0x06054b50;
const CENTRAL = 0x02014b50;
const LOCAL = 0x04034b50;
const END_BYTES = 22;
const MAX_COMMENT = 65_535;
const MAX_DIRECTORY_BYTES = 64 * 1024 * 1024;
const MAX_UNPACKED_BYTES = 4 * 1024 ** 3;
/** Conversations pack to a tenth. A file that packs better than this is a bomb. */
const MAX_RATIO = 200;

/** The entries of a ZIP file, by its directory at the end. @returns undefined if it is no ZIP file. */
export async function zipEntries(path: string): Promise<readonly ZipEntry[] | undefined> {
  const { size } = await lstat(path);
  const file = await open(path, 'r');
  try {
    const tail = await readAt(file, Math.max(0, size - END_BYTES - MAX_COMMENT), END_BYTES + MAX_COMMENT);
    for (let at = tail.length - END_BYTES; at >= 0; at--) {
      if (tail.readUInt32LE(at) !== END) continue;
      const [bytes, offset] = [tail.readUInt32LE(at + 12), tail.readUInt32LE(at + 16)];
      if (bytes > MAX_DIRECTORY_BYTES || offset + bytes > size) return undefined;
      return parseDirectory(await readAt(file, offset, bytes));
    }
    return undefined;
  } finally {
    await file.close();
  }
}

function parseDirectory(bytes: Buffer): readonly ZipEntry[] {
  const entries: ZipEntry[] = [];
  for (let at = 0; at + 46 <= bytes.length && bytes.readUInt32LE(at) === CENTRAL; ) {
    const [nameBytes, extra, comment] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field)) as [
      number,
      number,
      number,
    ];
    entries.push({
      name: bytes.toString('utf8', at + 46, at + 46 + nameBytes),
      method: bytes.readUInt16LE(at + 10),
      packed: bytes.readUInt32LE(at + 20),
      bytes: bytes.readUInt32LE(at + 24),
      offset: bytes.readUInt32LE(at + 42),
    });
    at += 46 + nameBytes + extra + comment;
  }
  return entries;
}

/** The beginning of what an entry becomes. */
export async function peekEntry(path: string, entry: ZipEntry, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of unpacked(path, entry)) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= bytes) break;
  }
  return Buffer.concat(chunks).subarray(0, bytes);
}

export async function unpackEntry(path: string, entry: ZipEntry, target: string): Promise<void> {
  await pipeline(unpacked(path, entry), createWriteStream(target, { mode: 0o600 }));
}

/** Stops a bomb by what it becomes, not by what it claims. */
async function* unpacked(path: string, entry: ZipEntry): AsyncGenerator<Buffer> {
  const file = await open(path, 'r');
  try {
    const header = await readAt(file, entry.offset, 30);
    const isKnown = entry.method === 0 || entry.method === 8;
    if (header.length < 30 || header.readUInt32LE(0) !== LOCAL || !isKnown) throw damaged(path);
    if (entry.packed === 0) return;
    const start = entry.offset + 30 + header.readUInt16LE(26) + header.readUInt16LE(28);
    const packed = file.createReadStream({ autoClose: false, start, end: start + entry.packed - 1 });
    const chunks = entry.method === 0 ? packed : packed.pipe(createInflateRaw());
    packed.on('error', (error) => chunks.destroy(error));
    const max = Math.min(MAX_UNPACKED_BYTES, Math.max(1024 * 1024, entry.packed * MAX_RATIO));
    let bytes = 0;
    for await (const chunk of chunks as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > max)
        throw failure('LIMIT_EXCEEDED', 'import.zipBomb', { path, name: entry.name.slice(0, 200), max });
      yield chunk;
    }
  } catch (error) {
    if (((error as NodeJS.ErrnoException).code ?? '').startsWith('Z_')) throw damaged(path);
    throw error;
  } finally {
    await file.close();
  }
}

function damaged(path: string): Error {
  return failure('INVALID_INPUT', 'import.damagedZip', { path });
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
