import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { refuseStoreFile } from './store-files.ts';

export interface WriteOptions {
  /** Replace existing files. */
  readonly force?: boolean;
}

/**
 * Writes the file completely or not at all, readable by its owner only. An existing file is kept unless `force` is set.
 */
export async function writeFileSafely(
  path: string,
  content: string | Uint8Array | Iterable<string>,
  { force = false }: WriteOptions = {},
): Promise<void> {
  await replaceFile(path, force, async (temporary) => {
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
  });
}

/** `make` writes to a temporary path, which is renamed to the target when it is complete. */
export async function replaceFile(
  path: string,
  force: boolean,
  make: (temporary: string) => void | Promise<void>,
): Promise<void> {
  refuseStoreFile(path);
  const temporary = `${path}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    if (!force && (await exists(path))) throw isThere(path);
    await make(temporary);
    await rename(temporary, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await rm(temporary, { force: true });
    throw asWriteError(error, path);
  }
}

/** Without this, a power cut could lose the name of a file whose content is on disk. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Creates a folder for many files. It must be new or empty, unless `force` is set. */
export async function prepareFolder(path: string, { force = false }: WriteOptions = {}): Promise<void> {
  refuseStoreFile(join(path, 'any'));
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    if (!force && (await readdir(path)).length > 0) {
      throw failure('INVALID_INPUT', 'export.folderNotEmpty', { path });
    }
  } catch (error) {
    throw asWriteError(error, path);
  }
}

const LONGEST_NAME = 150;

/**
 * A file name for any id that is valid on every system: never empty, hidden, a path or too long. Different ids get
 * different names.
 */
export function safeName(id: string): string {
  const name = Buffer.from(id.toWellFormed())
    .toString('latin1')
    .replace(/[^A-Za-z0-9._-]|^\./g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
  if (name !== '' && name.length <= LONGEST_NAME && id.isWellFormed()) return name;
  const hash = createHash('sha256').update(id, 'utf16le').digest('hex').slice(0, 32);
  return `${name.slice(0, LONGEST_NAME - 40)}~${hash}`;
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

function isThere(path: string): RepriseError {
  return failure('INVALID_INPUT', 'export.fileExists', { path });
}

function asWriteError(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof RepriseError || code === undefined) return error;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return failure(
    isFull ? 'STORE_FULL' : 'INVALID_INPUT',
    'export.notWritten',
    { path, problem: isFull ? 'diskFull' : 'other', errno: code },
    { cause: error },
  );
}
