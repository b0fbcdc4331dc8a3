import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { RepriseError } from '../../errors.ts';

/** What a folder is a home by. */
const DATABASES = ['control.db', 'store.db'];
/** Those, the index of a search, and what SQLite keeps beside them. */
const OWN_FILE = /^(?:control|store|search)\.db(?:-(?:wal|shm|journal))?$/i;
const OWN_FOLDER = /^(?:agents|quarantine)$/i;
/** In `agents/<id>/`: what agents and people write there is no part of a store. */
const FREE_FOLDER = /^workspace$/i;

/**
 * Whoever writes a file for a user asks here first, also when it may replace what is there: only `purge` destroys what a
 * store holds, and a file that is put among its own becomes a part of it. Of this home or any other.
 */
export function refuseStoreFile(path: string): void {
  // The last name is not followed: a link there is replaced, not what it leads to.
  const target = join(realFolder(dirname(resolve(path))), basename(path));
  for (let home = dirname(target), rest = [basename(target)]; ; ) {
    if (isStoreFile(rest) && DATABASES.some((name) => existsSync(join(home, name))))
      throw new RepriseError('INVALID_INPUT', `${path} is a file of the store in ${home}`, {
        details: { next: 'Name a file outside of that folder; --force does not replace what a store keeps.' },
      });
    if (dirname(home) === home) return;
    rest = [basename(home), ...rest];
    home = dirname(home);
  }
}

/** By the names that lead from a home to it. */
function isStoreFile([first = '', second, third, ...others]: readonly string[]): boolean {
  if (second === undefined) return OWN_FILE.test(first) || OWN_FOLDER.test(first);
  const isFree = third !== undefined && FREE_FOLDER.test(third) && others.length > 0;
  return OWN_FOLDER.test(first) && !(isFree && /^agents$/i.test(first));
}

/** Without links, as far as it is there. */
function realFolder(path: string): string {
  const missing: string[] = [];
  let there = path;
  while (!existsSync(there) && dirname(there) !== there) {
    missing.unshift(basename(there));
    there = dirname(there);
  }
  return [realpathSync(there).replace(/\/$/, ''), ...missing].join(sep) || sep;
}
