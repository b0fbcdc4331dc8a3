import { chmodSync, closeSync, openSync, type Stats, statSync } from 'node:fs';
import { chmod, mkdir, realpath, stat, statfs } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { refuseNetwork } from './network-home.ts';

/** Creates the home folder or throws why that is impossible. @returns its real path. */
export async function prepareHome(home: string): Promise<string> {
  try {
    await makeFolders(home);
    const found = await stat(home);
    if (!found.isDirectory()) throw notAFolder(home);
    refuseNetwork(home, (await statfs(home)).type);
    const path = await realpath(home);
    await makePrivate(path, found);
    return path;
  } catch (error) {
    if (error instanceof RepriseError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' || code === 'ENOTDIR') throw notAFolder(home);
    throw failure(
      'STORE_READ_ONLY',
      'store.badHome',
      { home, reason: code ?? String(error) },
      { cause: error },
    );
  }
}

const STICKY = 0o1000;
const GROUP_WRITE = 0o020;

/**
 * Makes a home private that was created with an open umask or copied. A group that may write was given the home on
 * purpose and keeps it; folders such as /tmp are left alone.
 */
async function makePrivate(path: string, { mode, uid }: Stats): Promise<void> {
  if (uid !== process.getuid?.() || path === homedir() || path === dirname(path) || (mode & STICKY) !== 0)
    return;
  const wanted = (mode & GROUP_WRITE) !== 0 ? mode & 0o770 : 0o700;
  if ((mode & 0o777) !== wanted && (mode & 0o077) !== 0) await chmod(path, wanted);
}

/**
 * Creates a folder with its parents. Node's recursive `mkdir` loops forever if the parent exists but accepts no
 * folders, as in /proc.
 */
async function makeFolders(path: string): Promise<void> {
  const make = (): Promise<void> =>
    mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  try {
    await make();
  } catch (error) {
    const parent = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === path) throw error;
    await makeFolders(parent);
    await make();
  }
}

/** Finds an existing home for reading; never creates one. */
export async function findHome(home: string): Promise<string> {
  try {
    return await realpath(home);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw failure('NOT_FOUND', 'store.noAccess', { home, reason: code ?? String(error) }, { cause: error });
  }
}

function notAFolder(home: string): RepriseError {
  return failure('INVALID_INPUT', 'store.homeNotFolder', { home });
}

/**
 * Creates the database file with private permissions, because SQLite would make it readable for all users and its
 * side files inherit its mode. An existing file is never opened here: closing its descriptor would drop this
 * process's locks on it.
 */
export function keepPrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    for (const suffix of ['', '-wal', '-shm']) {
      const { mode = 0, uid } = statSync(path + suffix, { throwIfNoEntry: false }) ?? {};
      // Leave files of another user alone: that user chose their permissions.
      if ((mode & 0o077) !== 0 && uid === process.getuid?.()) chmodSync(path + suffix, 0o600);
    }
  }
}
