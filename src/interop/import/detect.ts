import { basename, dirname, join, relative, sep } from 'node:path';
import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import { JSON_MARK } from '../export/formats.ts';
import { findSessionFolders, folderOfIndex, readSessionFolders, sessionFolder } from './folder-sources.ts';
import type { ImportSource } from './source.ts';
import { firstBytes, hasFile, listFolder, realPath } from './source-files.ts';
import { readJsonExport, readTranscriptFile } from './transcript-file.ts';
import { openZeroclaw } from './zeroclaw-source.ts';

const SQLITE_MAGIC = 'SQLite format 3\0';
const DATABASE_NAME = /\.(?:db|sqlite|sqlite3)$/i;

/**
 * Recognizes what a path is and opens it: a file of any dialect, a `json` export, or the files of one of five systems.
 * A folder is searched for folders of transcripts, and the index of these may also lie above the named folder.
 */
export async function openSource(path: string): Promise<ImportSource & Partial<AsyncDisposable>> {
  const real = await realPath(path);
  const list = await listFolder(real);
  const isFolder = list.files.length + list.folders.length + list.others.length > 0;
  if (!isFolder) return openFile(real);
  if (await isInHome(real)) throw isHome(path);
  for (const parts of [[], ['memory'], ['workspace', 'memory']]) {
    const { files } = await listFolder(join(real, ...parts));
    if (files.includes('sessions.db')) return openZeroclaw(join(real, ...parts, 'sessions.db'));
  }
  const folders = await findSessionFolders(real);
  if (folders.length > 0) return readSessionFolders(folders);
  // A database of another name is opened to say what it is.
  for (const name of list.files.filter((each) => DATABASE_NAME.test(each)))
    if (await isDatabase(join(real, name))) return openZeroclaw(join(real, name));
  throw failure('INVALID_INPUT', 'import.unknown', { path });
}

/** How many folders above the transcripts of a home its database is: agents, the agent, sessions. */
const LEVELS_IN_HOME = 3;

async function isInHome(real: string): Promise<boolean> {
  for (let home = real, level = 0; level <= LEVELS_IN_HOME; home = dirname(home), level++) {
    const isStored = level === 0 || relative(home, real).split(sep)[0] === 'agents';
    if (!isStored) continue;
    if ((await hasFile(join(home, 'control.db'))) || (await hasFile(join(home, 'store.db')))) return true;
  }
  return false;
}

async function isDatabase(path: string): Promise<boolean> {
  return (await firstBytes(path, SQLITE_MAGIC.length)).toString('latin1') === SQLITE_MAGIC;
}

async function openFile(path: string): Promise<ImportSource & Partial<AsyncDisposable>> {
  if (await isDatabase(path)) {
    if (await isInHome(dirname(path))) throw isHome(dirname(path));
    return openZeroclaw(path);
  }
  const folder = await folderOfIndex(path);
  if (folder !== undefined) return readSessionFolders([folder], basename(path));
  const document = await readJsonExport(path, JSON_MARK);
  const read = document ?? (await readTranscriptFile(path));
  if (!read.entries.some(({ type }) => type === 'message' || type === 'compaction'))
    throw failure('INVALID_INPUT', 'import.noMessages', { path });
  const kind = document === undefined ? 'transcript' : 'export of a session';
  const loose = { kind, sessions: [{ place: path }], convlogs: [], problems: [] };
  const source = document === undefined ? ((await describeFile(path)) ?? loose) : loose;
  const sessions = source.sessions.map((found) => ({ ...found, read: () => Promise.resolve(read) }));
  return { ...source, sessions };
}

/** @returns undefined for a transcript that lies in no folder of a known tool. */
async function describeFile(path: string): Promise<ImportSource | undefined> {
  const folder = await sessionFolder(dirname(path));
  if (folder.index === undefined && folder.agentId === undefined) return undefined;
  return readSessionFolders([folder], basename(path));
}

function isHome(path: string): RepriseError {
  return failure('INVALID_INPUT', 'import.ownHome', { path });
}
