import { lstat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { JsonObject } from '../../../transcript/json.ts';
import { readRecords, stampOf } from '../record-lines.ts';
import { textIn } from '../source.ts';
import { firstBytes, listFolder, readBytes } from '../source-files.ts';
import { newestFirst } from '../source-index.ts';

/** One session, which can be in several files: a session that was resumed or forked begins with copied lines. */
export interface ClaudeSession {
  readonly id: string;
  readonly files: readonly string[];
  readonly stamp: string;
  /** The first line of a subagent inside a file. */
  readonly root?: string;
  /** The session of a subagent. */
  readonly parentId?: string;
  readonly indexedAt: string;
}

interface File {
  readonly path: string;
  readonly stamp: string;
  readonly id: string;
  readonly firstUuid: string | undefined;
  readonly firstAt: string;
  /** When the file was created, which does not change when it grows. */
  readonly createdAt: bigint;
  readonly changedAt: string;
  /** Subagents inside the file. */
  readonly roots: readonly string[];
}

const HEAD_BYTES = 256 * 1024;

/** What a file begins with, by its stamp: a repeated look at many files reads only those that changed. */
const known = new Map<string, Promise<File>>();
const MAX_KNOWN = 20_000;

/** All sessions in a folder (a project, or all of them), or the sessions of which a file is a part. */
export async function findClaudeSessions(path: string): Promise<readonly ClaudeSession[]> {
  const isFile = path.endsWith('.jsonl');
  const main: string[] = [];
  const agents: string[] = [];
  await collect(isFile ? dirname(path) : path, main, agents, isFile ? 0 : 4);
  const files = await Promise.all(main.map(look));
  const groups = await groupByLines(files);
  const wanted = isFile ? groups.filter((group) => group.some((file) => file.path === path)) : groups;
  const sessions = wanted.flatMap((group) => sessionsOf(group));
  const wantedAgents = isFile ? agents.filter((each) => each === path) : agents;
  for (const agent of wantedAgents) sessions.push(await agentSession(agent, groups));
  return sessions.sort(newestFirst);
}

async function collect(folder: string, main: string[], agents: string[], depth: number): Promise<void> {
  const { files, folders } = await listFolder(folder);
  const isSubagents = basename(folder) === 'subagents';
  for (const name of files)
    if (name.endsWith('.jsonl'))
      (isSubagents || /^agent-/.test(name) ? agents : main).push(join(folder, name));
  if (depth === 0) return;
  for (const name of folders) await collect(join(folder, name), main, agents, depth - 1);
}

async function look(path: string): Promise<File> {
  const stamp = await stampOf(path);
  const key = `${path} ${stamp}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  if (known.size > MAX_KNOWN) known.clear();
  const file = readFacts(path, stamp);
  known.set(key, file);
  return file;
}

async function readFacts(path: string, stamp: string): Promise<File> {
  const id = basename(path, '.jsonl');
  let firstUuid: string | undefined;
  let firstAt = '';
  for (const record of recordsIn((await firstBytes(path, HEAD_BYTES)).toString('utf8'))) {
    if (record['isSidechain'] === true) continue;
    firstUuid ??= textIn(record['uuid']);
    firstAt ||= firstUuid === undefined ? '' : (textIn(record['timestamp']) ?? '');
  }
  const changedAt = new Date(Number(stamp.split(':')[2])).toISOString();
  const roots = (await contains(path, '"isSidechain":true')) ? await findRoots(path) : [];
  const { birthtimeNs: createdAt } = await lstat(path, { bigint: true });
  return { path, stamp, id, firstUuid, firstAt, createdAt, changedAt, roots };
}

function* recordsIn(text: string): Generator<JsonObject> {
  for (const line of text.split('\n')) {
    try {
      const record: unknown = JSON.parse(line);
      if (typeof record === 'object' && record !== null) yield record as JsonObject;
    } catch {
      // The cut end, or no record; the reader reports it.
    }
  }
}

/** Whether a text is anywhere in a file, also across two chunks. */
async function contains(path: string, text: string): Promise<boolean> {
  let end: Uint8Array = new Uint8Array();
  for await (const chunk of readBytes(path)) {
    if (Buffer.concat([end, chunk.subarray(0, text.length)]).includes(text)) return true;
    if (Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length).includes(text)) return true;
    end = Uint8Array.prototype.slice.call(chunk, Math.max(0, chunk.length - text.length));
  }
  return false;
}

async function findRoots(path: string): Promise<readonly string[]> {
  const inside = new Set<string>();
  const roots: string[] = [];
  await readRecords(path, ({ isSidechain, uuid, parentUuid }) => {
    if (isSidechain !== true || typeof uuid !== 'string') return;
    if (typeof parentUuid !== 'string' || !inside.has(parentUuid)) roots.push(uuid);
    inside.add(uuid);
  });
  return roots;
}

/** Files that share lines. Only a file that was written when another one begins can contain its first line. */
async function groupByLines(files: readonly File[]): Promise<readonly (readonly File[])[]> {
  const groupOf = new Map<File, File[]>(files.map((file) => [file, [file]]));
  for (const file of files) {
    const { firstUuid, firstAt } = file;
    if (firstUuid === undefined) continue;
    for (const other of files) {
      const mayShare =
        other !== file && other.firstAt !== '' && other.firstAt <= firstAt && firstAt <= other.changedAt;
      if (!mayShare || groupOf.get(other) === groupOf.get(file)) continue;
      const isShared = other.firstUuid === firstUuid || (await contains(other.path, `"uuid":"${firstUuid}"`));
      if (!isShared) continue;
      const merged = [...(groupOf.get(other) ?? []), ...(groupOf.get(file) ?? [])];
      for (const each of merged) groupOf.set(each, merged);
    }
  }
  return [...new Set(groupOf.values())];
}

function compare<T extends string | bigint>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * The oldest file names the session, so that a later fork does not change its id. A fork begins with the same lines, so
 * the time of creation decides: an original that is continued after its fork stays the original.
 */
function sessionsOf(group: readonly File[]): ClaudeSession[] {
  const files = [...group].sort(
    (a, b) => compare(a.firstAt, b.firstAt) || compare(a.createdAt, b.createdAt) || compare(a.id, b.id),
  );
  const id = files[0]?.id ?? '';
  const stamp = files.map((file) => file.stamp).join(' ');
  const indexedAt =
    files
      .map(({ changedAt }) => changedAt)
      .sort()
      .at(-1) ?? '';
  const paths = files.map(({ path }) => path);
  const roots = [...new Set(files.flatMap((file) => file.roots))];
  return [
    { id, files: paths, stamp, indexedAt },
    ...roots.map((root) => ({
      id: `${id}-agent-${root}`,
      files: paths,
      stamp,
      indexedAt,
      root,
      parentId: id,
    })),
  ];
}

async function agentSession(path: string, groups: readonly (readonly File[])[]): Promise<ClaudeSession> {
  const stamp = await stampOf(path);
  const [first] = [...recordsIn((await firstBytes(path, HEAD_BYTES)).toString('utf8'))];
  const inLines = textIn(first?.['sessionId']);
  const sessionId = inLines ?? basename(dirname(dirname(path)));
  const group = groups.find((files) => files.some(({ id }) => id === sessionId));
  const parentId = (group === undefined ? undefined : sessionsOf(group)[0]?.id) ?? sessionId;
  const indexedAt = new Date(Number(stamp.split(':')[2])).toISOString();
  return { id: `${sessionId}-${basename(path, '.jsonl')}`, files: [path], stamp, indexedAt, parentId };
}
