import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RepriseError } from '../errors.ts';
import { noneIfGone } from '../store/nobody.ts';
import type { PurgeOptions } from '../store/purge.ts';
import { searchable } from '../store/search-text.ts';
import type { SessionRecord, Store } from '../store/store.ts';
import { forkMark } from './fork-mark.ts';
import { isMemoryOf, memoryFilesIn, memorySections } from './memory-notes.ts';
import { readHistory } from './read-history.ts';

/** A place outside a purged session that has text of it. */
export type TextCopy =
  | {
      readonly kind: 'session';
      readonly sessionId: string;
      /** How it is related: it began with this history, this one began with its, it got a result, or it got a task. */
      readonly relation: 'fork' | 'origin' | 'parent' | 'child';
      readonly title: string;
    }
  /** A section of MEMORY.md. */
  | { readonly kind: 'memory'; readonly file: string; readonly heading: string }
  /** A file that was set aside whole and has data of other sessions too, such as a damaged database. */
  | { readonly kind: 'file'; readonly file: string };

export interface PurgeSessionOptions extends Omit<PurgeOptions, 'removeFiles'> {
  /** Also purge the sessions that have copies of its text, and remove the notes and files that do. */
  readonly withCopies?: boolean;
  /** The folder with all data: notes of agents and what was typed at a prompt are looked for there. */
  readonly home?: string | undefined;
  /** Workspaces outside of the home. */
  readonly workspaces?: readonly string[];
}

export interface PurgeReport {
  readonly sessionId: string;
  /** What still has text of it; empty after `withCopies`. */
  readonly copies: readonly TextCopy[];
  /** The other sessions that `withCopies` purged. */
  readonly purgedToo: readonly string[];
}

/** In a home: what was typed at a prompt, one JSON string per line. */
export const INPUT_HISTORY_FILE = 'repl-history';

const PAGE = 200;
/** A purge searches for the start of each text elsewhere. A shorter part could match unrelated text. */
const NEEDLE_CHARS = 200;
const SHORTEST_NEEDLE = 12;
const MAX_NEEDLES = 200;

/**
 * Removes the text of a session in the trash from the store and from what was typed at a prompt, and names every copy
 * of it in other sessions and in notes, or removes these too.
 */
export async function purgeSession(
  store: Store,
  id: string,
  { withCopies = false, home, workspaces = [], ...options }: PurgeSessionOptions = {},
): Promise<PurgeReport> {
  const record = await store.get(id);
  const texts = await textsOf(store, id);
  const memoryFiles = await memoryFilesIn(home, workspaces);
  const copies = record.status === 'deleted' ? await findCopies(store, record, { texts, memoryFiles }) : [];
  const { files } = await store.purge(id, { ...options, removeFiles: withCopies });
  if (home !== undefined) await forgetTyped(join(home, INPUT_HISTORY_FILE), texts);
  const inFiles = files.map((file) => ({ kind: 'file', file }) as const);
  if (!withCopies) return { sessionId: id, copies: [...copies, ...inFiles], purgedToo: [] };
  const purgedToo: string[] = [];
  const { keepChannelLog = false } = options;
  for (const copy of copies) {
    if (copy.kind !== 'session') continue;
    await store.delete(copy.sessionId);
    await store.purge(copy.sessionId, { keepChannelLog, removeFiles: true });
    purgedToo.push(copy.sessionId);
  }
  for (const file of memoryFiles) await forgetNotes(file, record);
  return { sessionId: id, copies: inFiles, purgedToo };
}

/** For a question before it happens. */
export async function copiesOf(
  store: Store,
  record: SessionRecord,
  { home, workspaces = [] }: Pick<PurgeSessionOptions, 'home' | 'workspaces'> = {},
): Promise<readonly TextCopy[]> {
  const [texts, memoryFiles] = [await textsOf(store, record.id), await memoryFilesIn(home, workspaces)];
  return findCopies(store, record, { texts, memoryFiles });
}

async function findCopies(
  store: Store,
  record: SessionRecord,
  { texts, memoryFiles }: { readonly texts: readonly string[]; readonly memoryFiles: readonly string[] },
): Promise<TextCopy[]> {
  const needles = [...new Set(texts.map((text) => asJson(text.trim().slice(0, NEEDLE_CHARS))))]
    .filter(({ length }) => length >= SHORTEST_NEEDLE)
    .sort((a, b) => b.length - a.length)
    .slice(0, MAX_NEEDLES);
  const copies: TextCopy[] = [];
  const seen = new Set([record.id]);
  // A copy of a copy is one too: forks of forks, forks of a parent.
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
  for (const file of memoryFiles)
    for (const { heading } of memorySections(await readOrEmpty(file)))
      if (isMemoryOf(heading, record)) copies.push({ kind: 'memory', file, heading });
  return copies;
}

/** The sessions it came from, and those that came from it: forks, threads, resets, subagents. */
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

/** What cannot be read any more is purged all the same; only its copies cannot be found. */
async function textsOf(store: Store, id: string): Promise<string[]> {
  const entries = await readHistory(store, id).catch((error: unknown) => {
    if (error instanceof RepriseError) return [];
    throw error;
  });
  return entries.flatMap((entry) => searchable(entry)?.text ?? []);
}

/** As it stands inside a line. */
const asJson = (text: string): string => JSON.stringify(text).slice(1, -1);

async function readOrEmpty(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
}

async function forgetNotes(file: string, record: SessionRecord): Promise<void> {
  const text = await readOrEmpty(file);
  const sections = memorySections(text);
  const kept = sections.filter(({ heading }) => !isMemoryOf(heading, record));
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
