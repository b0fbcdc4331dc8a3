import { basename, dirname, join } from 'node:path';
import { failure } from '../../../messages/failure.ts';
import { JSON_MARK } from '../../export/formats.ts';
import type { Importer, OpenSource } from '../importer.ts';
import type { ImportSource } from '../source.ts';
import { readJsonExport, readTranscriptFile } from '../transcript-file.ts';
import {
  findSessionFolders,
  folderOfIndex,
  readSessionFolders,
  sessionFolder,
} from './transcript-folders.ts';

/**
 * Transcripts that Reprise reads as they are (pi, OpenClaw, claw0, ZyHive, its own), alone or in folders with an index,
 * and its own JSON exports. The index says which of the tools wrote a folder.
 */
export const transcripts: Importer = {
  tool: 'openclaw',
  name: 'OpenClaw',
  places: ({ home, env }) => [env['OPENCLAW_STATE_DIR'] ?? join(home, '.openclaw'), join(home, '.clawdbot')],
  async detect({ path, folder }) {
    return folder === undefined || (await findSessionFolders(path)).length > 0;
  },
  async list(path) {
    const folders = await findSessionFolders(path);
    return folders.length > 0 ? readSessionFolders(folders) : openFile(path);
  },
  notImported: { 'entries of Reprise': 'except turns, tool calls and branch moves' },
};

async function openFile(path: string): Promise<OpenSource> {
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
