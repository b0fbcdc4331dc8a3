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
import { DEFAULT_RECORD_LIMITS } from '../../transcript/limits.ts';
import type { BlobStore } from '../sqlite/read/blobs.ts';
import type { SessionRow } from '../sqlite/session-row.ts';
import { readRange, sizeOf, syncFolder, type TranscriptFiles, writeAll } from './transcript-files.ts';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;
const OPEN_TO_OTHERS = 0o077;
/** Nothing longer was ever kept, and whatever stands there instead is read no further. */
const MAX_BYTES = DEFAULT_RECORD_LIMITS.maxRecordBytes;

/**
 * One file per blob in a folder beside the transcript. Files are made under the write lock, complete and synced
 * before the commit of the line that names them; a writer that dies in between leaves a stray (I-18). Links are
 * not followed, neither in the folder nor in its place.
 */
export class BlobFiles implements BlobStore {
  readonly #files: TranscriptFiles;
  /** Folders whose own way up to the home this process has synced. */
  readonly #settled: Set<string> = new Set();

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
        // Compared, not believed: the answer to this append says that its bytes are safe.
        if (readPlain(path)?.equals(bytes) === true) continue;
        replace(path, bytes);
        made.push(path);
      }
      // Also where all were there: whoever renamed them may have died before this.
      syncFolder(folder);
    } catch (error) {
      for (const path of made) removeQuietly(path);
      throw diskError(error);
    }
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
    if (!stat.isDirectory())
      throw new RepriseError('STORE_FAILED', `${folder} is not a folder`, { outcome: 'none' });
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

/** Whole or not at all: a rename shows either nothing or every byte. */
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

/** Undefined for what is not there, for links, and for pipes and devices, which could make a reader wait for ever. */
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
    // The disk fails already, and what stays is a stray that `verify` tells of.
  }
}

/** Nothing has been committed: whatever the disk says, the append did not happen. */
function diskError(error: unknown): unknown {
  const { code = '', syscall, message } = error as NodeJS.ErrnoException;
  if (error instanceof RepriseError || syscall === undefined) return error;
  const kind =
    code === 'ENOSPC' || code === 'EDQUOT'
      ? 'STORE_FULL'
      : ['EROFS', 'EACCES', 'EPERM'].includes(code)
        ? 'STORE_READ_ONLY'
        : 'STORE_FAILED';
  return new RepriseError(kind, `a blob could not be kept: ${message}`, { cause: error, outcome: 'none' });
}
