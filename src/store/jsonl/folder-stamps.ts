import { statSync } from 'node:fs';
import { resolveSessionTranscriptsDir } from '../port/home-paths.ts';
import type { Database } from '../sqlite/database.ts';
import { meta, setMeta } from '../sqlite/identity.ts';
import { agentsIn, isStranger, listFolder } from './folders.ts';
import { nap } from './side-files.ts';
import type { TranscriptFiles } from './transcript-files.ts';

/** Folders with fewer files are read faster than checked. */
const MANY = 1000;
/** Two changes of a folder that are at least this far apart have different times on every disk. */
const TICK_MS = 20;

interface Place {
  readonly home: string;
  readonly files: TranscriptFiles;
}

/**
 * Stores the change time of each large folder at a moment when the index knows every file in it. While that time is
 * unchanged, no process has to read the folder's names again. Other tools may create a file at any moment, so the
 * time is read before the names, and only if it is old enough that another change would differ.
 */
export function stampFolders(db: Database, { home, files }: Place): void {
  const before = stampsOf(db);
  const stamps = new Map<string, string>();
  for (const agentId of agentsIn(home)) {
    if (isStamped(before, home, agentId)) stamps.set(agentId, before[agentId] as string);
    else if (hasMany(db, agentId)) {
      const changed = settledTime(home, agentId);
      if (knowsAll(db, { home, files }, agentId)) stamps.set(agentId, changed);
    }
  }
  const value = JSON.stringify(Object.fromEntries(stamps));
  if (value === JSON.stringify(before)) return;
  db.transaction(() => setMeta(db, STAMPS, value), { lazy: true });
}

/** Whether every transcript in the folders has a row, or is known not to belong to Reprise. */
export function knowsAllFiles(db: Database, place: Place): boolean {
  const stamps = stampsOf(db);
  return agentsIn(place.home).every(
    (agentId) => isStamped(stamps, place.home, agentId) || knowsAll(db, place, agentId),
  );
}

const STAMPS = 'folders';

function knowsAll(db: Database, { home, files }: Place, agentId: string): boolean {
  return listFolder(db, home, agentId).unknown.every((id) => {
    const stat = statSync(files.path(agentId, id), { throwIfNoEntry: false });
    return stat === undefined || isStranger(db, { id, agentId }, stat);
  });
}

function hasMany(db: Database, agentId: string): boolean {
  const found = 'SELECT 1 FROM sessions WHERE agent_id = ? LIMIT 1 OFFSET ?';
  return db.row(found, agentId, MANY - 1) !== undefined;
}

function stampsOf(db: Database): Readonly<Record<string, string>> {
  return JSON.parse(meta(db, STAMPS) ?? '{}') as Record<string, string>;
}

function isStamped(stamps: Readonly<Record<string, string>>, home: string, agentId: string): boolean {
  return Object.hasOwn(stamps, agentId) && stamps[agentId] === changeOf(home, agentId);
}

function settledTime(home: string, agentId: string): string {
  const deadline = performance.now() + TICK_MS;
  while (performance.now() < deadline) nap();
  return changeOf(home, agentId);
}

/** Includes the inode, because a replacement folder may have the same times. */
function changeOf(home: string, agentId: string): string {
  const path = resolveSessionTranscriptsDir({ home, agentId });
  const stat = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stat === undefined ? 'none' : `${stat.ino}:${stat.mtimeNs}:${stat.ctimeNs}`;
}
