import { constants } from 'node:fs';
import { copyFile, type FileHandle, lstat, open, readdir, realpath, rm } from 'node:fs/promises';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { inspectJson, isObject, type JsonObject } from '../../transcript/json.ts';
import { DEFAULT_RECORD_LIMITS } from '../../transcript/limits.ts';

/** Larger than an index of a hundred thousand sessions. */
const MAX_INDEX_BYTES = 256 * 1024 * 1024;

/** The content of a folder. Links and special files are listed separately and never opened. */
export interface FolderList {
  readonly files: readonly string[];
  readonly folders: readonly string[];
  readonly others: readonly string[];
}

const EMPTY: FolderList = { files: [], folders: [], others: [] };

export async function listFolder(path: string): Promise<FolderList> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    const names = (fits: (entry: (typeof entries)[number]) => boolean): string[] =>
      entries
        .filter(fits)
        .map(({ name }) => name)
        .sort();
    return {
      files: names((entry) => entry.isFile()),
      folders: names((entry) => entry.isDirectory()),
      others: names((entry) => !entry.isFile() && !entry.isDirectory()),
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return EMPTY;
    throw asReadError(error, path);
  }
}

/** Works also in a folder that cannot be listed, such as the parent of the folder that the user named. */
export async function hasFile(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isFile();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM'].includes(code)) return false;
    throw asReadError(error, path);
  }
}

/** The path that the user named may be a link; links below it are not followed. */
export async function realPath(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    throw asReadError(error, path);
  }
}

/** Reads the bytes of a regular file; a pipe with its name is refused, because reading it could block. */
export async function* readBytes(path: string): AsyncGenerator<Uint8Array> {
  const file = await openFile(path);
  try {
    for await (const chunk of file.createReadStream({ autoClose: false })) yield chunk as Uint8Array;
  } catch (error) {
    throw asReadError(error, path);
  } finally {
    await file.close();
  }
}

export async function firstBytes(path: string, length: number): Promise<Buffer> {
  const file = await openFile(path);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/**
 * Reads a file that contains one JSON object. @returns the problem as text if it does not.
 */
export async function readJson(path: string): Promise<JsonObject | string> {
  const value = await readDocument(path);
  return isObject(value) ? value : typeof value === 'string' ? value : 'no JSON object';
}

/**
 * Reads a file that contains one JSON object or list. @returns the problem as text if it does not.
 */
export async function readDocument(path: string): Promise<JsonObject | readonly unknown[] | string> {
  const file = await openFile(path);
  try {
    if ((await file.stat()).size > MAX_INDEX_BYTES) return `larger than ${MAX_INDEX_BYTES} bytes`;
    const value: unknown = JSON.parse(await file.readFile('utf8'));
    if (!isObject(value) && !Array.isArray(value)) return 'no JSON object';
    return inspectJson({ value }, DEFAULT_RECORD_LIMITS.maxDepth + 1).tooDeep ? 'nested too deeply' : value;
  } catch (error) {
    if (error instanceof SyntaxError) return 'no JSON';
    throw asReadError(error, path);
  } finally {
    await file.close();
  }
}

/** Files that SQLite keeps next to a database: the newest transactions, or data to roll one back. */
const BESIDE_DATABASE = ['-wal', '-journal'];
const COPY_ATTEMPTS = 10;

/**
 * Copies a SQLite database and the files next to it as of one moment: if a file changes during the copy, it is copied
 * again. The source is never opened with SQLite, because even reading would create files next to it. @returns whether
 * another program has the database open, or did not close it.
 */
export async function copyDatabase(path: string, copy: string): Promise<boolean> {
  const suffixes = ['', ...BESIDE_DATABASE];
  for (let attempt = 0; attempt < COPY_ATTEMPTS; attempt++) {
    const before = await Promise.all(suffixes.map((suffix) => fileStamp(path + suffix)));
    if (before[0] === undefined) throw asReadError({ code: 'ENOENT' }, path);
    try {
      for (const [i, suffix] of suffixes.entries())
        if (before[i] === undefined) await rm(copy + suffix, { force: true });
        else await copyFile(path + suffix, copy + suffix);
    } catch (error) {
      // A file next to the database can vanish when its program closes it.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw asReadError(error, path);
      continue;
    }
    const after = await Promise.all(suffixes.map((suffix) => fileStamp(path + suffix)));
    if (before.join() === after.join()) return before.slice(1).some((stamp) => stamp !== undefined);
  }
  throw failure('INVALID_INPUT', 'import.changing', { path });
}

/** @returns undefined if the file is missing, empty or not a regular file. */
async function fileStamp(path: string): Promise<string | undefined> {
  try {
    const stat = await lstat(path, { bigint: true });
    return stat.isFile() && stat.size > 0n ? `${stat.ino} ${stat.size} ${stat.mtimeNs}` : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw asReadError(error, path);
  }
}

async function openFile(path: string): Promise<FileHandle> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  let file: FileHandle | undefined;
  try {
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if ((await file.stat()).isFile()) return file;
    throw failure('INVALID_INPUT', 'import.notRead', { path, problem: 'notFile', errno: null });
  } catch (error) {
    await file?.close();
    throw asReadError(error, path);
  }
}

function asReadError(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof RepriseError || code === undefined) return error;
  const problem = code === 'ENOENT' ? 'missing' : code === 'ELOOP' ? 'link' : 'other';
  return failure(
    problem === 'missing' ? 'NOT_FOUND' : 'INVALID_INPUT',
    'import.notRead',
    { path, problem, errno: code },
    { cause: error },
  );
}
