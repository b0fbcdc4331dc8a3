import { closeSync, constants, fstatSync, openSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isSessionId, parseAgentId } from '../../keys/ids.ts';
import { parseSessionKey } from '../../keys/session-key.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { decodeLine } from '../../transcript/line.ts';
import { insertFromHeader } from './adopt.ts';
import type { Database } from './database.ts';
import { findIgnoringCase } from './session-row.ts';
import { readRange, type TranscriptFiles } from './transcript-files.ts';

/** What the folders of a home hold, learnt by names and sizes; files are opened only when the index does not know them. */

/** Ours have at most 512 bytes; what is longer was not written by us. */
const HEADER_BYTES = 4096;
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
}

/** One folder by names alone; links and everything that is not a plain file are left out. */
export function listFolder(db: Database, home: string, agentId: string): Folder {
  const ids = new Set(
    db
      .rows<{ id: string }>('SELECT id FROM sessions WHERE agent_id = ?', agentId)
      .map(({ id }) => id.toLowerCase()),
  );
  const folder: Folder = { agentId, unknown: [], known: [] };
  for (const name of entriesIn(join(home, 'agents', agentId, 'sessions'), false)) {
    const id = name.slice(0, -EXTENSION.length);
    if (!name.endsWith(EXTENSION) || !isSessionId(id)) continue;
    (ids.has(id.toLowerCase()) ? folder.known : folder.unknown).push(id);
  }
  return folder;
}

/** Inside a transaction: the header of a file the index does not know becomes a row without lines. */
export function takeHeader(db: Database, files: TranscriptFiles, { id, agentId }: Owner): void {
  if (findIgnoringCase(db, id) !== undefined) return;
  const path = files.path(agentId, id);
  if (db.row('SELECT 1 FROM purged WHERE id = ?', id) !== undefined) {
    // Left by a purge that was cut short between its commit and the removal.
    files.remove(agentId, id);
    return;
  }
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  const { size, mtimeMs } = stat;
  const known = 'SELECT 1 FROM strangers WHERE agent_id = ? AND id = ? AND size = ? AND changed_ms = ?';
  if (db.row(known, agentId, id, size, mtimeMs) !== undefined) return;
  const header = readHeader(path, id);
  if (header !== undefined) insertFromHeader(db, header, agentId);
  else db.run('INSERT OR REPLACE INTO strangers VALUES (?, ?, ?, ?)', agentId, id, size, mtimeMs);
}

/** Undefined for another tool's file: importing it is a decision, not a repair. */
function readHeader(path: string, id: string): JsonObject | undefined {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile()) return undefined;
    const head = readRange(fd, 0, HEADER_BYTES);
    const end = head.indexOf(10);
    const line = decodeLine(end === -1 ? head : head.subarray(0, end));
    if (line.kind !== 'record' || line.seal === undefined || line.seal === 'broken') return undefined;
    const { record } = line;
    if (record['type'] !== 'session' || record['id'] !== id) return undefined;
    if (typeof record['key'] === 'string') parseSessionKey(record['key']);
    return record;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error;
    // Sealed, with a key no version of ours has written.
    return undefined;
  } finally {
    closeSync(fd);
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
