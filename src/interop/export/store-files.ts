import { closeSync, constants, existsSync, openSync, readdirSync, readSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { failure } from '../../messages/failure.ts';
import { decodeLine } from '../../transcript/line.ts';

/** The first bytes of every SQLite database. Other programs use files with these names too. */
const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 64 * 1024;
/**
 * How many lines of a transcript are checked: nearly all lines of a store have a seal, those of an export have none.
 */
const LOOKED_AT = 20;
/** The store databases, the search index, and the files SQLite creates next to them. */
const OWN_FILE = /^(?:control|store|search)\.db(?:-(?:wal|shm|journal))?$/i;
const OWN_FOLDER = /^(?:agents|quarantine)$/i;
/** In `agents/<id>/`: files of agents and users that are not part of a store. */
const FREE_FOLDER = /^workspaces?$/i;

/**
 * Every writer of user files calls this first, even with `force`: only `purge` may destroy store data, and a file
 * written among a store's files becomes part of it. It applies to any home, not only the current one.
 */
export function refuseStoreFile(path: string): void {
  // Do not resolve the last name: if it is a link, the link is replaced, not its target.
  const target = join(realFolder(dirname(resolve(path))), basename(path));
  for (let home = dirname(target), rest = [basename(target)]; ; ) {
    if (isStoreFile(rest) && isHome(home, rest))
      throw failure('INVALID_INPUT', 'export.storeFile', { path, home });
    if (dirname(home) === home) return;
    rest = [basename(home), ...rest];
    home = dirname(home);
  }
}

/** Whether a path relative to a home belongs to its store. */
function isStoreFile([first = '', second, third, ...others]: readonly string[]): boolean {
  if (second === undefined) return OWN_FILE.test(first) || OWN_FOLDER.test(first);
  const isFree = third !== undefined && FREE_FOLDER.test(third) && others.length > 0;
  return OWN_FOLDER.test(first) && !(isFree && /^agents$/i.test(first));
}

/** Only a store with transcripts owns folders; one that uses `store.db` has none. */
function isHome(home: string, names: readonly string[]): boolean {
  const [first = '', , third] = names;
  const hasDatabase = (name: string): boolean => headOf(join(home, name), MAGIC.length)?.toString() === MAGIC;
  if (hasDatabase('control.db') || (OWN_FILE.test(first) && hasDatabase('store.db'))) return true;
  const isOne = third === 'sessions' && isTranscript(join(home, ...names));
  return isOne || hasTranscripts(join(home, 'agents'));
}

/** Transcripts from which a store could rebuild a lost database. */
function hasTranscripts(agents: string): boolean {
  return namesIn(agents).some((agent) => {
    const folder = join(agents, agent, 'sessions');
    const files = namesIn(folder).filter((name) => name.endsWith('.jsonl'));
    return files.slice(0, LOOKED_AT).some((name) => isTranscript(join(folder, name)));
  });
}

/** A transcript written by a Reprise store. */
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
    return []; // missing or unreadable
  }
}

/** @returns undefined for a missing or unreadable file. */
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

/** Resolves links, for the part of the path that exists. */
function realFolder(path: string): string {
  const missing: string[] = [];
  let there = path;
  while (!existsSync(there) && dirname(there) !== there) {
    missing.unshift(basename(there));
    there = dirname(there);
  }
  return [realpathSync(there).replace(/\/$/, ''), ...missing].join(sep) || sep;
}
