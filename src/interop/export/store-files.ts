import { closeSync, constants, existsSync, openSync, readdirSync, readSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { RepriseError } from '../../errors.ts';
import { decodeLine } from '../../transcript/line.ts';

/** What every SQLite database begins with; other programs have files of these names too. */
const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 64 * 1024;
/** Of an agent's transcripts: nearly all of a store have a seal, and none of an export that was laid out as another tool's. */
const LOOKED_AT = 20;
/** Those, the index of a search, and what SQLite keeps beside them. */
const OWN_FILE = /^(?:control|store|search)\.db(?:-(?:wal|shm|journal))?$/i;
const OWN_FOLDER = /^(?:agents|quarantine)$/i;
/** In `agents/<id>/`: what agents and people write there is no part of a store. */
const FREE_FOLDER = /^workspaces?$/i;

/**
 * Whoever writes a file for a user asks here first, also when it may replace what is there: only `purge` destroys what a
 * store holds, and a file that is put among its own becomes a part of it. Of this home or any other.
 */
export function refuseStoreFile(path: string): void {
  // The last name is not followed: a link there is replaced, not what it leads to.
  const target = join(realFolder(dirname(resolve(path))), basename(path));
  for (let home = dirname(target), rest = [basename(target)]; ; ) {
    if (isStoreFile(rest) && isHome(home, rest))
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

/** Folders belong to a store of transcripts only: one that is all in `store.db` has none. */
function isHome(home: string, names: readonly string[]): boolean {
  const [first = '', , third] = names;
  const hasDatabase = (name: string): boolean => headOf(join(home, name), MAGIC.length)?.toString() === MAGIC;
  if (hasDatabase('control.db') || (OWN_FILE.test(first) && hasDatabase('store.db'))) return true;
  const isOne = third === 'sessions' && isTranscript(join(home, ...names));
  return isOne || hasTranscripts(join(home, 'agents'));
}

/** A store whose database is lost makes it anew from these. */
function hasTranscripts(agents: string): boolean {
  return namesIn(agents).some((agent) => {
    const folder = join(agents, agent, 'sessions');
    const files = namesIn(folder).filter((name) => name.endsWith('.jsonl'));
    return files.slice(0, LOOKED_AT).some((name) => isTranscript(join(folder, name)));
  });
}

/** One of ours, as a store writes them. */
function isTranscript(path: string): boolean {
  const head = path.endsWith('.jsonl') ? headOf(path, HEADER_BYTES) : undefined;
  if (head === undefined) return false;
  const end = head.indexOf(10);
  const line = decodeLine(end === -1 ? head : head.subarray(0, end));
  return line.kind === 'record' && line.record['type'] === 'session' && typeof line.seal === 'object';
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // none is there, or none that could be written into
  }
}

/** Undefined where no file is, or none that may be read. */
function headOf(path: string, length: number): Buffer | undefined {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const head = Buffer.alloc(length);
      return head.subarray(0, readSync(fd, head, 0, length, 0));
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
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
