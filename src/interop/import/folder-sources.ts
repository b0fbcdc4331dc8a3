import { basename, join } from 'node:path';
import { normalizeAgentId } from '../../keys/ids.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { readConvlogFile } from './convlog-file.ts';
import { type FoundSession, type ImportSource, textIn } from './source.ts';
import { type FolderList, listFolder, readJson } from './source-files.ts';
import { readTranscriptFile } from './transcript-file.ts';

/** Fields of a SessionEntry that tell of its files, not of what people chose. */
const BOOKKEEPING: ReadonlySet<string> = new Set(['sessionId', 'updatedAt', 'sessionFile']);
const TOPIC = /-topic-[^/]*$/;

/** What every reader of a folder gathers. */
interface Gathered {
  readonly sessions: FoundSession[];
  readonly problems: string[];
}

/** Of one transcript, what its index says. The header of the file comes after it, then its name. */
type Described = Omit<FoundSession, 'read' | 'place' | 'agentId'>;

/** `.sessions/agents/<id>/sessions.json` by session id, transcripts in `sessions/` beside it. */
export async function readClaw0(root: string): Promise<ImportSource> {
  const gathered: Gathered = { sessions: [], problems: [] };
  for (const agent of (await listFolder(join(root, 'agents'))).folders) {
    const folder = join(root, 'agents', agent);
    const index = await readIndex(folder, await listFolder(folder), gathered);
    const described = new Map<string, Described & { readonly last: string }>();
    for (const [id, meta] of Object.entries(index)) {
      if (!isObject(meta)) continue;
      const { label, session_key, last_active } = meta;
      const last = textIn(last_active) ?? '';
      described.set(`${id}.jsonl`, { id, title: textIn(label), key: textIn(session_key), last });
    }
    await addTranscripts(join(folder, 'sessions'), agent, gathered, (name) => described.get(name));
    // Of several sessions of one key the one that was used last should stand for it.
    const lastOf = ({ id = '' }: FoundSession): string => described.get(`${id}.jsonl`)?.last ?? '';
    gathered.sessions.sort((a, b) => compare(lastOf(b), lastOf(a)));
  }
  return { kind: 'claw0', convlogs: [], ...gathered };
}

/** `sessions.json` by session key, transcripts in `transcripts/`. */
export async function readClaw0Classic(root: string): Promise<ImportSource> {
  const gathered: Gathered = { sessions: [], problems: [] };
  const index = await readIndex(root, await listFolder(root), gathered);
  const described = new Map<string, Described>();
  for (const [key, meta] of Object.entries(index)) {
    if (!isObject(meta)) continue;
    const file = fileIn(meta['transcript_file'], gathered);
    if (file === undefined) continue;
    described.set(file, { id: textIn(meta['session_id']), key, title: textIn(meta['title']), active: true });
  }
  await addTranscripts(
    join(root, 'transcripts'),
    undefined,
    gathered,
    (name) => described.get(name) ?? { active: false },
  );
  return { kind: 'claw0 (classic)', convlogs: [], ...gathered };
}

/** `agents/<id>/sessions/` with an index by key (OpenClaw) or under `sessions` by id (ZyHive). */
export async function readAgents(root: string): Promise<ImportSource> {
  const gathered: Gathered = { sessions: [], problems: [] };
  const convlogs: ImportSource['convlogs'][number][] = [];
  let isZyhive = false;
  for (const agent of (await listFolder(join(root, 'agents'))).folders) {
    const folder = join(root, 'agents', agent, 'sessions');
    const index = await readIndex(folder, await listFolder(folder), gathered);
    const logs = join(root, 'agents', agent, 'convlogs');
    const { files } = await listFolder(logs);
    const byId = isObject(index['sessions']) ? index['sessions'] : undefined;
    isZyhive ||= byId !== undefined || files.length > 0;
    const described = byId === undefined ? byKey(index, gathered) : bySessionId(byId, gathered);
    const unknown: Described = byId === undefined ? { active: false } : {};
    await addTranscripts(folder, agent, gathered, (name) => described.get(name) ?? unknown);
    for (const name of files.filter((file) => file.endsWith('.jsonl')))
      convlogs.push({ place: name, read: () => readConvlogFile(join(logs, name), normalizeAgentId(agent)) });
  }
  return { kind: isZyhive ? 'ZyHive' : 'OpenClaw', ...gathered, convlogs };
}

/** Transcripts of any dialect without an index. */
export async function readTranscripts(root: string): Promise<ImportSource> {
  const gathered: Gathered = { sessions: [], problems: [] };
  await addTranscripts(root, undefined, gathered, () => undefined);
  return { kind: 'folder of transcripts', convlogs: [], ...gathered };
}

function byKey(index: JsonObject, gathered: Gathered): Map<string, Described> {
  const described = new Map<string, Described>();
  for (const [key, entry] of Object.entries(index)) {
    if (!isObject(entry)) continue;
    const id = textIn(entry['sessionId']);
    const file = fileIn(entry['sessionFile'] ?? `${id ?? ''}.jsonl`, gathered);
    if (file === undefined) continue;
    const settings = Object.fromEntries(Object.entries(entry).filter(([name]) => !BOOKKEEPING.has(name)));
    // Index files of ours tell a few facts that are no settings.
    for (const name of ['createdAt', 'title', 'messageCount', 'tokenEstimate']) delete settings[name];
    described.set(file, { id, key, settings, active: true });
  }
  return described;
}

function bySessionId(index: JsonObject, gathered: Gathered): Map<string, Described> {
  const described = new Map<string, Described>();
  for (const [id, entry] of Object.entries(index)) {
    if (!isObject(entry)) continue;
    const file = fileIn(entry['filePath'] ?? `${id}.jsonl`, gathered);
    if (file !== undefined) described.set(file, { id, title: textIn(entry['title']) });
  }
  return described;
}

async function readIndex(folder: string, { files }: FolderList, { problems }: Gathered): Promise<JsonObject> {
  if (!files.includes('sessions.json')) return {};
  const index = await readJson(join(folder, 'sessions.json'));
  if (typeof index !== 'string') return index;
  problems.push(`${join(folder, 'sessions.json')}: ${index}; transcripts are taken without it`);
  return {};
}

/** An index names files of its own folder, sometimes by a whole path. Only the name counts, never the way. */
function fileIn(name: unknown, { problems }: Gathered): string | undefined {
  const file = basename(textIn(name) ?? '');
  if (file.endsWith('.jsonl')) return file;
  problems.push(`the index names ${JSON.stringify(name)?.slice(0, 100)}, which is no transcript`);
  return undefined;
}

async function addTranscripts(
  folder: string,
  agent: string | undefined,
  { sessions, problems }: Gathered,
  describe: (name: string) => Described | undefined,
): Promise<void> {
  const { files, others } = await listFolder(folder);
  for (const name of others) problems.push(`${join(folder, name)} is a link or no file, and was not opened`);
  for (const name of files.filter((file) => file.endsWith('.jsonl'))) {
    const path = join(folder, name);
    sessions.push({
      place: path,
      agentId: normalizeAgentId(agent ?? ''),
      fallbackId: name.slice(0, -'.jsonl'.length).replace(TOPIC, ''),
      ...describe(name),
      read: () => readTranscriptFile(path, { mayBeEmpty: true }),
    });
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
