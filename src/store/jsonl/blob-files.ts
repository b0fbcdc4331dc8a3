import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { DEFAULT_RECORD_LIMITS } from '../../transcript/limits.ts';
import type { BlobStore } from '../sqlite/read/blobs.ts';
import type { SessionRow } from '../sqlite/session-row.ts';
import { readRange, sizeOf, syncFolder, type TranscriptFiles, writeAll } from './transcript-files.ts';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;
const OPEN_TO_OTHERS = 0o077;
/** No blob is longer than this. If another program put a larger file there, no more of it is read. */
const MAX_BYTES = DEFAULT_RECORD_LIMITS.maxRecordBytes;

/**
 * Stores each blob as a file in a folder beside the transcript. A file is complete and synced, under the write lock,
 * before the commit of the line that names it; a writer that dies in between leaves a stray file (I-18). Links are
 * not followed, neither in the folder nor in its place.
 */
export class BlobFiles implements BlobStore {
  readonly #files: TranscriptFiles;
  /** Blob folders whose parent folders this process has synced. */
  readonly #settled: Set<string> = new Set();
  /** Files written since the last commit. */
  #made: string[] = [];

  constructor(files: TranscriptFiles) {
    this.#files = files;
  }

  keep(row: SessionRow, blobs: ReadonlyMap<string, Uint8Array>): void {
    if (blobs.size === 0) return;
    const made: string[] = [];
    try {
      const folder = this.#prepareFolder(row);
      for (const [hash, bytes] of blobs) {
        const path = join(folder, hash);
        // Compare the bytes instead of trusting the file: the answer to this append promises that they are safe.
        const found = readPlain(path);
        if (found?.equals(bytes) === true) continue;
        replace(path, bytes);
        if (found === undefined) made.push(path);
      }
      // Sync even if all files existed: the process that renamed them may have died before its sync.
      syncFolder(folder);
      this.#made.push(...made);
    } catch (error) {
      for (const path of made) removeQuietly(path);
      throw diskError(error);
    }
  }

  settle(isStored: boolean): void {
    if (!isStored) for (const path of this.#made) removeQuietly(path);
    this.#made = [];
  }

  get(row: SessionRow, hash: string): Buffer | undefined {
    const folder = this.#files.blobFolder(row.agent_id, row.id);
    return isFolder(folder) ? readPlain(join(folder, hash)) : undefined;
  }

  names(row: SessionRow): string[] {
    const folder = this.#files.blobFolder(row.agent_id, row.id);
    return isFolder(folder) ? readdirSync(folder).sort() : [];
  }

  #prepareFolder({ agent_id, id }: SessionRow): string {
    const folder = this.#files.blobFolder(agent_id, id);
    const isNew = mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined;
    const stat = lstatSync(folder);
    if (!stat.isDirectory()) throw failure('STORE_FAILED', 'blob.noFolder', { folder }, { outcome: 'none' });
    if ((stat.mode & OPEN_TO_OTHERS) !== 0) chmodSync(folder, 0o700);
    if (isNew || !this.#settled.has(folder)) {
      for (let parent = dirname(folder), i = 0; i < 4; parent = dirname(parent), i++) syncFolder(parent);
      this.#settled.add(folder);
    }
    return folder;
  }
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Writes a file atomically: after the rename, readers see all bytes; before it, no file. */
function replace(path: string, bytes: Uint8Array): void {
  const temporary = `${path}.${process.pid}.tmp`;
  rmSync(temporary, { force: true });
  try {
    const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      writeAll(fd, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, path);
  } catch (error) {
    removeQuietly(temporary);
    throw error;
  }
}

/**
 * Reads a plain file. @returns `undefined` if it is missing or a link, or a pipe or device, which could block the
 * reader forever.
 */
function readPlain(path: string): Buffer | undefined {
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ELOOP', 'ENXIO'].includes(code)) return undefined;
    throw error;
  }
  try {
    return fstatSync(fd).isFile() ? readRange(fd, 0, Math.min(sizeOf(fd), MAX_BYTES + 1)) : undefined;
  } finally {
    closeSync(fd);
  }
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The disk already fails. The file remains as a stray that `verify` reports.
  }
}

/** Translates a disk error. Nothing has been committed, so the append did not happen, whatever the error. */
function diskError(error: unknown): unknown {
  const { code = '', syscall, message } = error as NodeJS.ErrnoException;
  if (error instanceof RepriseError || syscall === undefined) return error;
  const kind =
    code === 'ENOSPC' || code === 'EDQUOT'
      ? 'STORE_FULL'
      : ['EROFS', 'EACCES', 'EPERM'].includes(code)
        ? 'STORE_READ_ONLY'
        : 'STORE_FAILED';
  return failure(kind, 'blob.notWritten', { reason: message }, { cause: error, outcome: 'none' });
}
