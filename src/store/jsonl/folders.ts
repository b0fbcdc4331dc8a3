import { readdirSync, rmSync, type Stats } from 'node:fs';
import { basename, join } from 'node:path';
import { isSessionId, parseAgentId } from '../../keys/ids.ts';
import { resolveSessionTranscriptsDir } from '../port/home-paths.ts';
import { isGone } from '../shared/holder.ts';
import type { Database } from '../sqlite/database.ts';

/** What the folders of a home hold, learnt by names alone; files are opened only when the index does not know them. */

const EXTENSION = '.jsonl';

export interface Owner {
  readonly id: string;
  readonly agentId: string;
}

export function agentsIn(home: string): string[] {
  return entriesIn(join(home, 'agents'), true).filter(isAgentId);
}

export interface Folder {
  readonly agentId: string;
  /** Files the index does not know. */
  readonly unknown: string[];
  /** Files it knows, to be compared by size. */
  readonly known: string[];
  /** Paths of half-written copies of sessions.json. */
  readonly halves: string[];
}

/** One folder by names alone; links and everything that is not a plain file are left out. */
export function listFolder(db: Database, home: string, agentId: string): Folder {
  const ids = new Set(
    db
      .rows<{ id: string }>('SELECT id FROM sessions WHERE agent_id = ?', agentId)
      .map(({ id }) => id.toLowerCase()),
  );
  const folder: Folder = { agentId, unknown: [], known: [], halves: [] };
  const path = resolveSessionTranscriptsDir({ home, agentId });
  for (const name of entriesIn(path, false)) {
    if (isHalf(name)) folder.halves.push(join(path, name));
    const id = name.slice(0, -EXTENSION.length);
    if (!name.endsWith(EXTENSION) || !isSessionId(id)) continue;
    (ids.has(id.toLowerCase()) ? folder.known : folder.unknown).push(id);
  }
  return folder;
}

export function unknownIn(db: Database, home: string, agentId: string): Owner[] {
  return listFolder(db, home, agentId).unknown.map((id) => ({ id, agentId }));
}

/** Whether somebody has looked into the file, as it is now, and found that it is none of ours. */
export function isStranger(db: Database, { id, agentId }: Owner, { size, mtimeMs }: Stats): boolean {
  const known = 'SELECT 1 FROM strangers WHERE agent_id = ? AND id = ? AND size = ? AND changed_ms = ?';
  return db.row(known, agentId, id, size, mtimeMs) !== undefined;
}

const HALF = /^sessions\.json\.(\d+)(?:-\d+)?\.tmp$/;

/** Whether a file of this name is sessions.json on its way to be written. */
export function isHalf(name: string): boolean {
  return HALF.test(name);
}

/** Removes what a process that was killed has left half-written. */
export function removeHalves(paths: readonly string[]): void {
  for (const path of paths) {
    const pid = Number(HALF.exec(basename(path))?.[1]);
    if (!isGone(pid)) continue;
    try {
      rmSync(path, { force: true });
    } catch {
      // No permission, or a failing disk: the file does no harm, and the next open tries again.
    }
  }
}

function entriesIn(path: string, folders: boolean): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => (folders ? entry.isDirectory() : entry.isFile()))
      .map(({ name }) => name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function isAgentId(id: string): boolean {
  try {
    return parseAgentId(id) === id;
  } catch {
    // A folder that is called like no agent is none of ours.
    return false;
  }
}
