import { readdirSync, rmSync, type Stats } from 'node:fs';
import { basename, join } from 'node:path';
import { isSessionId, parseAgentId } from '../../keys/ids.ts';
import { resolveSessionTranscriptsDir } from '../port/home-paths.ts';
import { isGone } from '../shared/holder.ts';
import type { Database } from '../sqlite/database.ts';

/** Lists the folders of a home by file names only; files are opened only if the index does not know them. */

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
  /** Files that the index does not know. */
  readonly unknown: string[];
  /** Files that the index knows; the caller compares their sizes. */
  readonly known: string[];
  /** Paths of incomplete temporary copies of sessions.json. */
  readonly halves: string[];
}

/** Lists one folder by names only; skips links and everything that is not a plain file. */
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

/** Whether the file, in its current state, was already inspected and does not belong to Reprise. */
export function isStranger(db: Database, { id, agentId }: Owner, { size, mtimeMs }: Stats): boolean {
  const known = 'SELECT 1 FROM strangers WHERE agent_id = ? AND id = ? AND size = ? AND changed_ms = ?';
  return db.row(known, agentId, id, size, mtimeMs) !== undefined;
}

const HALF = /^sessions\.json\.(\d+)(?:-\d+)?\.tmp$/;

/** Whether this is the name of a temporary copy of sessions.json. */
export function isHalf(name: string): boolean {
  return HALF.test(name);
}

/** Removes temporary files of killed processes. */
export function removeHalves(paths: readonly string[]): void {
  for (const path of paths) {
    const pid = Number(HALF.exec(basename(path))?.[1]);
    if (!isGone(pid)) continue;
    try {
      rmSync(path, { force: true });
    } catch {
      // No permission or a failing disk. The file is harmless; the next open retries.
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
    // A folder whose name is not an agent id does not belong to Reprise.
    return false;
  }
}
