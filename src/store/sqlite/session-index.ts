import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { knowsAllFiles } from '../jsonl/folder-stamps.ts';
import { noteName, salvagedName } from '../jsonl/recovery/beside.ts';
import { standingAt, TranscriptFiles } from '../jsonl/transcript-files.ts';
import type { SessionIndex } from '../port/session-index.ts';
import type { ListQuery, SessionPage } from '../port/store.ts';
import { Database, identityOf } from './database.ts';
import { isSurveyed, meta } from './identity.ts';
import { refuseNetwork } from './network-home.ts';
import { listSessions } from './read/list.ts';
import { SCHEMA_VERSION } from './schema.ts';
import type { ThreadOptions } from './threads/protocol.ts';
import { atOnce } from './threads/steps.ts';

type IndexOptions = Pick<ThreadOptions, 'path' | 'home'>;

/**
 * Lists sessions by reading the database from the calling thread, if the index is certainly complete. Starting the two
 * storage threads would be most of the time of `reprise ls`. It repairs nothing, because only the writer may. @returns
 * `undefined` if the index may be incomplete; the caller then has to open the store, which repairs it.
 */
export function openSessionIndex(options: IndexOptions): SessionIndex | undefined {
  const { path } = options;
  try {
    if (!isFile(path) || existsSync(salvagedName(path)) || existsSync(noteName(path))) return undefined;
    refuseNetwork(dirname(path), statfsSync(dirname(path)).type);
    const db = new Database({ path, durability: 'os', readOnly: true, isFirst: true });
    return {
      list: (query) => listSoundly(db, query, options),
      [Symbol.dispose]: () => db.close(),
    };
  } catch {
    // Busy, damaged or unreadable. Opening the store reports or repairs it.
    return undefined;
  }
}

function listSoundly(db: Database, query: ListQuery, options: IndexOptions): SessionPage | undefined {
  try {
    if (!db.snapshot(() => isComplete(db, options))) return undefined;
    const page = atOnce(listSessions(db, query));
    return areAsKnown(db, page, options) ? page : undefined;
  } catch {
    // Also reached for an invalid query; the store reports it with the usual error.
    return undefined;
  }
}

/** Whether every transcript has a row: same schema version, same file, and nothing left to read. */
function isComplete(db: Database, { path, home }: IndexOptions): boolean {
  if (Number(meta(db, 'schema')) !== SCHEMA_VERSION || meta(db, 'identity') !== identityOf(path))
    return false;
  if (home === undefined) return true;
  if (!isSurveyed(db) || db.row('SELECT 1 FROM sessions WHERE seq = 0') !== undefined) return false;
  return knowsAllFiles(db, { home, files: new TranscriptFiles(home) });
}

/** Whether the listed transcripts have their recorded size. If not, another tool added lines or cut the file. */
function areAsKnown(db: Database, { sessions }: SessionPage, { home }: IndexOptions): boolean {
  if (home === undefined) return true;
  const settled = db.rows<{ id: string; agent_id: string; file_size: number }>(
    `SELECT id, agent_id, file_size FROM sessions
     WHERE id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM journal WHERE session_id = sessions.id)`,
    JSON.stringify(sessions.map(({ id }) => id)),
  );
  const files = new TranscriptFiles(home);
  return settled.every(({ id, agent_id, file_size }) => {
    const found = standingAt(files.path(agent_id, id));
    return found.kind === 'file' && found.size === file_size;
  });
}

function isFile(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && found.size > 0;
}
