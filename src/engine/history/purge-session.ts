import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { isAbsolute, join, relative } from 'node:path';
import { RepriseError } from '../../errors.ts';
import { noneIfGone } from '../../store/port/nobody.ts';
import type { PurgeOptions } from '../../store/port/purge.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { searchable } from '../../store/search/search-text.ts';
import type { Entry } from '../../transcript/entry.ts';
import type { AgentOptions } from '../agents/agents.ts';
import {
  isMemoryOf,
  MEMORY_FILE,
  type MemorySection,
  memoryFilesIn,
  memorySections,
} from '../agents/memory-notes.ts';
import { Workspaces } from '../agents/workspaces.ts';
import { forkMark } from './fork-mark.ts';
import { readHistory } from './read-history.ts';

/** A place outside a purged session that contains its text. */
export type TextCopy =
  | {
      readonly kind: 'session';
      readonly sessionId: string;
      /**
       * How the other session is related: it began with this history, this one began with its history, it received a
       * result, or it received a task.
       */
      readonly relation: 'fork' | 'origin' | 'parent' | 'child';
      readonly title: string;
    }
  /** A section of MEMORY.md; the heading is empty for text before the first one. */
  | { readonly kind: 'memory'; readonly file: string; readonly heading: string }
  /**
   * A file in the workspace of its conversation, or a file in quarantine that was set aside whole and contains data
   * of other sessions too, such as a damaged database.
   */
  | { readonly kind: 'file'; readonly file: string };

export interface PurgeSessionOptions extends Omit<PurgeOptions, 'removeFiles'> {
  /** Also purge the sessions with copies of its text, and remove such notes and files. */
  readonly withCopies?: boolean;
  /** The folder with all data, in which to search workspaces, notes of agents and the prompt history. */
  readonly home?: string | undefined;
  /** Locates the workspaces. In those outside the home, only notes are searched. */
  readonly agents?: AgentFolders;
}

type AgentFolders = Readonly<
  Record<string, Pick<AgentOptions, 'workspace' | 'sandbox' | 'fileTools'> | undefined>
>;

export interface PurgeReport {
  readonly sessionId: string;
  /** Places that still contain its text; empty after `withCopies`. */
  readonly copies: readonly TextCopy[];
  /** The other sessions that `withCopies` purged. */
  readonly purgedToo: readonly string[];
}

/** The prompt history of a home: one JSON string per line. */
export const INPUT_HISTORY_FILE = 'repl-history';

const PAGE = 200;
/** A purge searches for the start of each text elsewhere. A shorter part could match unrelated text. */
const NEEDLE_CHARS = 200;
const SHORTEST_NEEDLE = 12;
const MAX_NEEDLES = 200;
/** File tools write no larger file, because the call has to fit into one line of the transcript. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/**
 * Removes the text of a session in the trash from the store and from the prompt history. Lists every copy of it in
 * other sessions, in notes and in its workspace, or removes these too.
 */
export async function purgeSession(
  store: Store,
  id: string,
  { withCopies = false, home, agents = {}, ...options }: PurgeSessionOptions = {},
): Promise<PurgeReport> {
  const record = await store.get(id);
  const history = await historyOf(store, id);
  const places = await placesOf(record, { home, agents });
  const copies = record.status === 'deleted' ? await findCopies(store, record, history, places) : [];
  const { files } = await store.purge(id, { ...options, removeFiles: withCopies });
  if (home !== undefined) await forgetTyped(join(home, INPUT_HISTORY_FILE), textsOf(history));
  const setAside = files.map((file) => ({ kind: 'file', file }) as const);
  if (!withCopies) return { sessionId: id, copies: [...copies, ...setAside], purgedToo: [] };
  const purgedToo: string[] = [];
  const { keepChannelLog = false } = options;
  for (const copy of copies) {
    if (copy.kind === 'file') await rm(copy.file, { force: true });
    if (copy.kind !== 'session') continue;
    await store.delete(copy.sessionId);
    await store.purge(copy.sessionId, { keepChannelLog, removeFiles: true });
    purgedToo.push(copy.sessionId);
  }
  const lines = linesOf(history);
  for (const file of places.memoryFiles)
    await forgetNotes(file, (section) => isCopiedIn(section, file, record, { lines, places }));
  return { sessionId: id, copies: setAside, purgedToo };
}

/** The copies of its text, to show before the user confirms. */
export async function copiesOf(
  store: Store,
  record: SessionRecord,
  { home, agents = {} }: Pick<PurgeSessionOptions, 'home' | 'agents'> = {},
): Promise<readonly TextCopy[]> {
  const places = await placesOf(record, { home, agents });
  return findCopies(store, record, await historyOf(store, record.id), places);
}

/** Where text of a session may be outside the store. */
interface Places {
  readonly memoryFiles: readonly string[];
  /** The workspace of its conversation; `undefined` if it is a folder of the owner outside the home. */
  readonly workspace: string | undefined;
}

async function placesOf(
  record: SessionRecord,
  { home, agents }: { readonly home: string | undefined; readonly agents: AgentFolders },
): Promise<Places> {
  const configured = Object.values(agents).flatMap((agent) => agent?.workspace ?? []);
  const folder = new Workspaces(home, agents).folderOf(record);
  const isInHome = home !== undefined && folder !== undefined && isInside(home, folder);
  return { memoryFiles: await memoryFilesIn(home, configured), workspace: isInHome ? folder : undefined };
}

function isInside(outer: string, inner: string): boolean {
  const path = relative(outer, inner);
  return path !== '..' && !path.startsWith(join('..', '/')) && !isAbsolute(path);
}

async function findCopies(
  store: Store,
  record: SessionRecord,
  history: readonly Entry[],
  places: Places,
): Promise<TextCopy[]> {
  const needles = [...new Set(textsOf(history).map((text) => asJson(text.trim().slice(0, NEEDLE_CHARS))))]
    .filter(({ length }) => length >= SHORTEST_NEEDLE)
    .sort((a, b) => b.length - a.length)
    .slice(0, MAX_NEEDLES);
  const copies: TextCopy[] = [];
  const seen = new Set([record.id]);
  // A copy of a copy counts too: forks of forks, forks of a parent.
  const queue = [record];
  for (const one of queue) {
    for (const other of await relatives(store, one)) {
      if (seen.has(other.id)) continue;
      seen.add(other.id);
      if (!isForkOf(other, one) && !(await holdsAny(store, other.id, needles))) continue;
      const { id: sessionId, title } = other;
      copies.push({ kind: 'session', sessionId, relation: relationOf(other, one), title });
      queue.push(other);
    }
  }
  const lines = linesOf(history);
  for (const file of places.memoryFiles)
    for (const section of memorySections(await readOrEmpty(file)))
      if (isCopiedIn(section, file, record, { lines, places }))
        copies.push({ kind: 'memory', file, heading: section.heading });
  for (const file of await filesIn(places.workspace))
    if (!places.memoryFiles.includes(file) && holdsLine(await readOrEmpty(file), lines))
      copies.push({ kind: 'file', file });
  return copies;
}

/** The plain files of a workspace. Links are not followed: their targets are not part of it. */
async function filesIn(workspace: string | undefined): Promise<readonly string[]> {
  if (workspace === undefined) return [];
  const found = await readdir(workspace, { recursive: true, withFileTypes: true }).catch(emptyIfMissing);
  const files = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return files.filter((_, i) => (sizes[i] ?? 0) <= MAX_FILE_BYTES).sort();
}

/** Whether a section is a note of the session, or contains text of it that a tool wrote. */
function isCopiedIn(
  { heading, text }: MemorySection,
  file: string,
  record: SessionRecord,
  { lines, places }: { readonly lines: ReadonlySet<string>; readonly places: Places },
): boolean {
  if (isMemoryOf(heading, record)) return true;
  return (
    places.workspace !== undefined && file === join(places.workspace, MEMORY_FILE) && holdsLine(text, lines)
  );
}

/** Every line of every text in a history, as a tool would write it into a file. Very short lines prove nothing. */
function linesOf(history: readonly Entry[]): ReadonlySet<string> {
  const lines = new Set<string>();
  const values: unknown[] = [...history];
  // An explicit stack: tool calls can be nested deeper than the call stack allows.
  while (values.length > 0) {
    const value = values.pop();
    if (typeof value === 'string') for (const line of comparable(value)) lines.add(line);
    else if (typeof value === 'object' && value !== null) values.push(...Object.values(value));
  }
  return lines;
}

function holdsLine(text: string, lines: ReadonlySet<string>): boolean {
  return comparable(text).some((line) => lines.has(line));
}

function comparable(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim().slice(0, NEEDLE_CHARS));
  return lines.filter(({ length }) => length >= SHORTEST_NEEDLE);
}

/** Related sessions in both directions: forks, threads, resets, subagents. */
async function relatives(store: Store, { id, parentId, settings }: SessionRecord): Promise<SessionRecord[]> {
  const found: SessionRecord[] = [];
  for (const other of new Set([parentId, forkMark(settings)?.from])) {
    const record = other === undefined ? undefined : await store.get(other).catch(noneIfGone);
    if (record !== undefined) found.push(record);
  }
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { parentId: id, status: 'any', limit: PAGE } as const;
    const page = await store.list({ ...query, ...(cursor !== undefined && { cursor }) });
    found.push(...page.sessions);
    cursor = page.cursor;
  }
  return found;
}

function isForkOf({ settings }: SessionRecord, { id }: SessionRecord): boolean {
  const mark = forkMark(settings);
  return mark?.from === id && mark.state !== 'too-long' && mark.leaf !== null;
}

function relationOf(other: SessionRecord, one: SessionRecord): 'fork' | 'origin' | 'parent' | 'child' {
  if (forkMark(other.settings)?.from === one.id) return 'fork';
  if (forkMark(one.settings)?.from === other.id) return 'origin';
  return one.parentId === other.id ? 'parent' : 'child';
}

async function holdsAny(store: Store, id: string, needles: readonly string[]): Promise<boolean> {
  const entries = (await readHistory(store, id).catch(noneIfGone)) ?? [];
  return entries.some((entry) => {
    const said = JSON.stringify(entry);
    return needles.some((needle) => said.includes(needle));
  });
}

/** An unreadable session is purged too; only its copies cannot be found. */
async function historyOf(store: Store, id: string): Promise<readonly Entry[]> {
  return readHistory(store, id).catch((error: unknown) => {
    if (error instanceof RepriseError) return [];
    throw error;
  });
}

function textsOf(history: readonly Entry[]): string[] {
  return history.flatMap((entry) => searchable(entry)?.text ?? []);
}

/** The text as it appears inside a JSON line. */
const asJson = (text: string): string => JSON.stringify(text).slice(1, -1);

async function readOrEmpty(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
}

function emptyIfMissing(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return [];
  throw error;
}

async function forgetNotes(file: string, isCopy: (section: MemorySection) => boolean): Promise<void> {
  const text = await readOrEmpty(file);
  const sections = memorySections(text);
  const kept = sections.filter((section) => !isCopy(section));
  if (kept.length < sections.length) await replaceFile(file, kept.map((section) => section.text).join(''));
}

async function forgetTyped(file: string, texts: readonly string[]): Promise<void> {
  const said = new Set(texts.map((text) => text.trim()));
  const lines = (await readOrEmpty(file)).split('\n');
  const kept = lines.filter((line) => !said.has(typedIn(line)));
  if (kept.length < lines.length) await replaceFile(file, kept.join('\n'));
}

function typedIn(line: string): string {
  try {
    return String(JSON.parse(line)).trim();
  } catch {
    return ''; // torn by a crash, or empty
  }
}

async function replaceFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.new`;
  // A tool may have put a link there; it is removed, not followed.
  await rm(temporary, { force: true });
  await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
  await rename(temporary, file);
}
