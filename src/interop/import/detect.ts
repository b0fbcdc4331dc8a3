import { join } from 'node:path';
import { RepriseError } from '../../errors.ts';
import { DEFAULT_AGENT_ID } from '../../keys/ids.ts';
import { JSON_MARK } from '../export/formats.ts';
import { readAgents, readClaw0, readClaw0Classic, readTranscripts } from './folder-sources.ts';
import type { ImportSource } from './source.ts';
import { firstBytes, listFolder, realPath } from './source-files.ts';
import { readJsonExport, readTranscriptFile } from './transcript-file.ts';
import { openZeroclaw } from './zeroclaw-source.ts';

const SQLITE_MAGIC = 'SQLite format 3\0';

/** Says what a path is and opens it: a file of any dialect, an export of ours, or the files of one of five systems. */
export async function openSource(path: string): Promise<ImportSource & Partial<AsyncDisposable>> {
  const real = await realPath(path);
  const list = await listFolder(real);
  const isFolder = list.files.length + list.folders.length + list.others.length > 0;
  if (!isFolder) return openFile(real);
  const has = async (...names: readonly string[]): Promise<boolean> => {
    const { files, folders } = await listFolder(join(real, ...names.slice(0, -1)));
    const name = names.at(-1) ?? '';
    return files.includes(name) || folders.includes(name);
  };
  if ((await has('control.db')) || (await has('store.db'))) throw isHome(path);
  for (const database of [['sessions.db'], ['memory', 'sessions.db'], ['workspace', 'memory', 'sessions.db']])
    if (await has(...database)) return openZeroclaw(join(real, ...database));
  for (const root of [[], ['.sessions'], ['workspace', '.sessions']]) {
    if (await has(...root, 'transcripts')) return readClaw0Classic(join(real, ...root));
    if (await hasAgents(join(real, ...root)))
      return (await isClaw0(join(real, ...root)))
        ? readClaw0(join(real, ...root))
        : readAgents(join(real, ...root));
  }
  if (list.files.some((name) => name.endsWith('.jsonl'))) return readTranscripts(real);
  throw new RepriseError('INVALID_INPUT', `nothing in ${path} is known here`, {
    details: {
      next: 'Give a transcript, or the folder of claw0, ZeroClaw, OpenClaw or ZyHive that holds "agents", "workspace" or "sessions.db".',
    },
  });
}

async function hasAgents(root: string): Promise<boolean> {
  for (const agent of (await listFolder(join(root, 'agents'))).folders) {
    if ((await listFolder(join(root, 'agents', agent))).folders.includes('sessions')) return true;
  }
  return false;
}

/** claw0 has its index beside the folder of transcripts, the others in it. Without an index nobody needs to know. */
async function isClaw0(root: string): Promise<boolean> {
  for (const agent of (await listFolder(join(root, 'agents'))).folders) {
    if ((await listFolder(join(root, 'agents', agent))).files.includes('sessions.json')) return true;
  }
  return false;
}

async function openFile(path: string): Promise<ImportSource & Partial<AsyncDisposable>> {
  const start = await firstBytes(path, SQLITE_MAGIC.length);
  if (start.toString('latin1') === SQLITE_MAGIC) return openZeroclaw(path);
  const document = await readJsonExport(path, JSON_MARK);
  const read = document ?? (await readTranscriptFile(path));
  if (!read.entries.some(({ type }) => type === 'message' || type === 'compaction'))
    throw new RepriseError('INVALID_INPUT', `${path}: there is no message in it`, {
      details: { next: 'Nothing was imported from it.' },
    });
  return {
    kind: document === undefined ? 'transcript' : 'export of a session',
    sessions: [{ place: path, agentId: DEFAULT_AGENT_ID, read: () => Promise.resolve(read) }],
    convlogs: [],
    problems: [],
  };
}

function isHome(path: string): RepriseError {
  return new RepriseError('INVALID_INPUT', `${path} is a home of Reprise itself`, {
    details: { next: `Write it out first: reprise export --all --profile clawdbot --out DIR --home ${path}` },
  });
}
