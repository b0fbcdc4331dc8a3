import { basename, dirname, join } from 'node:path';
import { RepriseError } from '../../../errors.ts';
import { normalizeAgentId } from '../../../keys/ids.ts';
import { routeOfZyhive } from '../../zyhive-names.ts';
import type { FoundSession, ImportSource } from '../source.ts';
import { hasFile, listFolder, readJson } from '../source-files.ts';
import { type Described, newestFirst, readSourceIndex, type SourceIndex } from '../source-index.ts';
import { readTranscriptFile } from '../transcript-file.ts';
import { readConvlogFile } from './convlog-file.ts';

/** One folder of transcripts, and what lies around it. */
export interface SessionFolder {
  readonly path: string;
  /** The file that describes the transcripts. */
  readonly index: string | undefined;
  readonly agentId: string | undefined;
  /** Channel logs that belong to the folder the user named. */
  readonly convlogs?: string;
}

/** Some systems keep the index beside the folder of transcripts, and call that folder by one of these names. */
const NAMES_WITH_INDEX_ABOVE: ReadonlySet<string> = new Set(['sessions', 'transcripts']);
const INDEX = 'sessions.json';
const TOPIC = /-topic-[^/]*$/;

/**
 * Finds folders of transcripts in a folder that a user named, whichever level it is: the home or workspace of a tool, its
 * `agents`, one agent, or the transcripts themselves.
 */
export async function findSessionFolders(named: string): Promise<readonly SessionFolder[]> {
  for (const parts of [[], ['.sessions'], ['workspace', '.sessions']]) {
    const root = join(named, ...parts);
    const { folders } = await listFolder(root);
    if (folders.includes('transcripts')) return [await sessionFolder(join(root, 'transcripts'))];
    const agents = await findAgents(join(root, 'agents'));
    if (agents.length > 0) return agents;
  }
  const { files, folders } = await listFolder(named);
  if (folders.includes('sessions')) return [await agentFolder(named)];
  if (files.some((name) => name.endsWith('.jsonl') || name === INDEX)) return [await sessionFolder(named)];
  return findAgents(named);
}

/** The folders of agents in a folder. One of another name than `agents` counts only if the agents have an index. */
async function findAgents(parent: string): Promise<SessionFolder[]> {
  const found: SessionFolder[] = [];
  const isAgents = basename(parent) === 'agents';
  for (const name of (await listFolder(parent)).folders) {
    const agent = join(parent, name);
    const list = await unlessUnreadable(listFolder(agent));
    // An agent that cannot be read is reported when its transcripts are read.
    const mayHaveSessions = list === undefined ? isAgents : list.folders.includes('sessions');
    if (!mayHaveSessions) continue;
    const folder = await agentFolder(agent);
    if (isAgents || folder.index !== undefined) found.push({ ...folder, agentId: normalizeAgentId(name) });
  }
  return found;
}

/** One file or folder that cannot be read keeps no other one back. */
async function unlessUnreadable<T>(
  read: Promise<T>,
  report: (error: RepriseError) => void = () => undefined,
): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    report(error);
    return undefined;
  }
}

async function agentFolder(agent: string): Promise<SessionFolder> {
  return { ...(await sessionFolder(join(agent, 'sessions'))), convlogs: join(agent, 'convlogs') };
}

/** A folder of transcripts by itself; its own path says whose they are. */
export async function sessionFolder(path: string): Promise<SessionFolder> {
  const candidates = NAMES_WITH_INDEX_ABOVE.has(basename(path)) ? [path, dirname(path)] : [path];
  let index: string | undefined;
  for (const candidate of candidates)
    if (index === undefined && (await hasFile(join(candidate, INDEX)))) index = join(candidate, INDEX);
  const agent = dirname(path);
  const isAgents = basename(path) === 'sessions' && basename(dirname(agent)) === 'agents';
  return { path, index, agentId: isAgents ? normalizeAgentId(basename(agent)) : undefined };
}

/**
 * The transcripts that an index file describes, which lie beside it or in a folder beside it.
 * @returns undefined for a file that is not called `sessions.json` or `sessions.json.<anything>`.
 */
export async function folderOfIndex(file: string): Promise<SessionFolder | undefined> {
  if (basename(file) !== INDEX && !basename(file).startsWith(`${INDEX}.`)) return undefined;
  const folder = dirname(file);
  const { folders } = await listFolder(folder);
  const below = folders.find((name) => NAMES_WITH_INDEX_ABOVE.has(name));
  return { ...(await sessionFolder(join(folder, below ?? ''))), index: file };
}

/** `named`: the one transcript that the user named, or the index, which then decides which transcripts are read. */
export async function readSessionFolders(
  folders: readonly SessionFolder[],
  named?: string,
): Promise<ImportSource> {
  const sessions: FoundSession[] = [];
  const convlogs: ImportSource['convlogs'][number][] = [];
  const problems: string[] = [];
  const kinds = new Set<string>();
  for (const folder of folders) {
    const list = await unlessUnreadable(listFolder(folder.path), (error) => {
      if (folders.length === 1) throw error;
      sessions.push({ place: folder.path, read: () => Promise.reject(error) });
    });
    if (list === undefined) continue;
    const { files, others } = list;
    const isTranscript = named?.endsWith('.jsonl') === true;
    const present = files.filter((name) => (isTranscript ? name === named : name.endsWith('.jsonl')));
    const index = await readIndex(folder, present, problems);
    const names =
      named === undefined || isTranscript ? present : present.filter((name) => index.byFile.has(name));
    if (!isTranscript) {
      problems.push(...index.problems);
      for (const name of others)
        problems.push(`${join(folder.path, name)} is a link or no file, and was not opened`);
    }
    sessions.push(...names.map((name) => foundTranscript(folder, name, index)));
    const findLogs = unlessUnreadable(findConvlogs(folder), ({ message }) => problems.push(message));
    const logs = (await findLogs) ?? [];
    convlogs.push(...logs);
    kinds.add(logs.length > 0 ? 'ZyHive' : (index.form ?? kindByName(folder)));
  }
  const kind = kinds.has('ZyHive') ? 'ZyHive' : ([...kinds][0] ?? 'folder of transcripts');
  // Of several sessions with one key, the one that was used last becomes its active session.
  return { kind, sessions: sessions.sort(newestFirst), convlogs, problems };
}

function foundTranscript({ path, agentId }: SessionFolder, name: string, index: SourceIndex): FoundSession {
  const place = join(path, name);
  // These indexes list what the keys stand for; a transcript that is not in one was replaced by a later session.
  const listsActive = index.form === 'OpenClaw' || index.form === 'claw0 (classic)';
  const unknown: Described = listsActive ? { active: false } : {};
  const described: Described = {
    fallbackId: name.replace(/\.jsonl$/, '').replace(TOPIC, ''),
    ...(index.byFile.get(name) ?? unknown),
  };
  const { fallbackId = '' } = described;
  return {
    place,
    tool: toolOfForm(index.form),
    mayBeEmpty: true,
    agentId,
    ...described,
    fallbackFrom: index.form === 'ZyHive' ? routeOfZyhive(fallbackId, agentId) : undefined,
    read: () => readTranscriptFile(place, { mayBeEmpty: true }),
  };
}

function toolOfForm(form: SourceIndex['form']): string | undefined {
  return form === 'claw0 (classic)' ? 'claw0-classic' : form?.toLowerCase();
}

async function readIndex(
  { index: path }: SessionFolder,
  names: readonly string[],
  problems: string[],
): Promise<SourceIndex> {
  const none: SourceIndex = { form: undefined, byFile: new Map(), problems: [] };
  if (path === undefined) return none;
  const report = (fault: string): void => {
    problems.push(`${fault}; transcripts are imported without it`);
  };
  const index = await unlessUnreadable(readJson(path), ({ message }) => report(message));
  if (typeof index === 'object') return readSourceIndex(index, new Set(names));
  if (index !== undefined) report(`${path}: ${index}`);
  return none;
}

async function findConvlogs({ convlogs, agentId }: SessionFolder): Promise<ImportSource['convlogs']> {
  if (convlogs === undefined) return [];
  const { files } = await listFolder(convlogs);
  return files
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => ({
      place: name,
      read: () => readConvlogFile(join(convlogs, name), normalizeAgentId(agentId ?? '')),
    }));
}

/** For people, where no index says it. */
function kindByName({ path, agentId }: SessionFolder): string {
  if (basename(path) === 'transcripts') return 'claw0 (classic)';
  return agentId === undefined ? 'folder of transcripts' : 'OpenClaw';
}
