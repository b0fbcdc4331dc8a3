import { basename } from 'node:path';
import { RepriseError } from '../../errors.ts';
import { parseIndexKey } from '../../keys/index-key.ts';
import { isoTime } from '../../transcript/dialects/time.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { type FoundSession, textIn } from './source.ts';
import { canonicalSourceKey } from './source-key.ts';
import { settingsOfIndex } from './source-settings.ts';

/** What an index says about one transcript. The index outranks the file's header, and the header outranks its name. */
export type Described = Pick<
  FoundSession,
  'id' | 'fallbackId' | 'key' | 'title' | 'settings' | 'notes' | 'active' | 'indexedAt'
>;

export type IndexForm = 'claw0' | 'claw0 (classic)' | 'OpenClaw' | 'ZyHive';

export interface SourceIndex {
  /** The form of most entries; undefined if the index has none. */
  readonly form: IndexForm | undefined;
  readonly byFile: ReadonlyMap<string, Described>;
  readonly problems: readonly string[];
}

interface IndexEntry {
  readonly form: IndexForm;
  readonly name: string;
  /** Possible names of its transcript, the most specific first. */
  readonly files: readonly unknown[];
  readonly described: Described;
  readonly hasInvalidKey?: boolean;
}

/**
 * Reads a `sessions.json` by the form of its entries, independent of its folder: claw0 lists sessions by id, its
 * classic form and OpenClaw by key, ZyHive by id under `sessions`. `present` lists the files it may name.
 */
export function readSourceIndex(index: JsonObject, present: ReadonlySet<string>): SourceIndex {
  const nested = index['sessions'];
  const isNested = isObject(nested) && textIn(nested['sessionId']) === undefined;
  const entries: IndexEntry[] = [];
  const unknown: string[] = [];
  for (const [name, meta] of Object.entries(isNested ? nested : index)) {
    const entry = isObject(meta) ? readEntry(name, meta, isNested) : undefined;
    if (entry === undefined) unknown.push(quote(name));
    else entries.push({ ...entry, hasInvalidKey: isInvalidKey(entry.described.key) });
  }
  const byFile = new Map<string, Described>();
  const missing: string[] = [];
  const problems: string[] = [];
  for (const { name, files, described } of entries.sort(byTrust)) {
    const names = files.flatMap((file) => fileName(file) ?? []);
    const file = names.find((each) => present.has(each) && !byFile.has(each));
    const taken = names.find((each) => byFile.has(each));
    if (file !== undefined) byFile.set(file, described);
    else if (taken !== undefined)
      problems.push(`the index names ${taken} for two sessions; its entry ${quote(name)} is ignored`);
    else if (names.length === 0) problems.push(`the index names ${quote(files[0])}, which is no transcript`);
    else missing.push(names[0] ?? '');
  }
  if (unknown.length > 0) problems.push(`entries of the index that describe no session: ${some(unknown)}`);
  if (missing.length > 0) problems.push(`sessions of the index without a transcript: ${some(missing)}`);
  return { form: mostOf(entries), byFile, problems };
}

function readEntry(name: string, meta: JsonObject, isNested: boolean): IndexEntry | undefined {
  if (isNested) {
    // An export of Reprise has its own id in the header, because ZyHive names a chat's session after the chat.
    const about = { title: textIn(meta['title']), indexedAt: timeIn(meta['lastAt']) };
    const described = { ...about, fallbackId: name, notes: unknownFields(meta, ZYHIVE_FIELDS) };
    return { form: 'ZyHive', name, files: [meta['filePath'] ?? `${name}.jsonl`], described };
  }
  const { transcript_file, session_id, updated_at, sessionId, sessionFile, updatedAt } = meta;
  if (transcript_file !== undefined) {
    const about = { id: textIn(session_id), title: textIn(meta['title']), indexedAt: timeIn(updated_at) };
    const described = { ...about, key: name, active: true, notes: unknownFields(meta, CLASSIC_FIELDS) };
    return { form: 'claw0 (classic)', name, files: [transcript_file], described };
  }
  const id = textIn(sessionId);
  if (id !== undefined || textIn(sessionFile) !== undefined) {
    const { settings, unknown } = settingsOfIndex(meta);
    const notes = unknownNotes(unknown);
    const described = { id, ...parseIndexKey(name, id ?? ''), settings, notes, indexedAt: timeIn(updatedAt) };
    return { form: 'OpenClaw', name, files: openClawFiles(name, id, meta), described };
  }
  if (!CLAW0_FIELDS.some((field) => field in meta)) return undefined;
  const { label, session_key, last_active } = meta;
  const about = { id: name, title: textIn(label), indexedAt: timeIn(last_active) };
  return {
    form: 'claw0',
    name,
    files: [`${name}.jsonl`],
    described: { ...about, key: textIn(session_key), notes: unknownFields(meta, CLAW0_FIELDS) },
  };
}

const CLAW0_FIELDS = ['label', 'created_at', 'last_active', 'message_count', 'session_key'];
const CLASSIC_FIELDS = [
  ...['session_key', 'session_id', 'created_at', 'updated_at', 'message_count', 'transcript_file', 'title'],
];
const ZYHIVE_FIELDS = [
  ...['id', 'agentId', 'filePath', 'title', 'messageCount', 'createdAt', 'lastAt', 'tokenEstimate'],
];

function unknownFields(meta: JsonObject, known: readonly string[]): readonly string[] {
  return unknownNotes(Object.keys(meta).filter((field) => !known.includes(field)));
}

function unknownNotes(fields: readonly string[]): readonly string[] {
  if (fields.length === 0) return [];
  return [`unknown fields of its index entry are not imported: ${some(fields.map(quote))}`];
}

/**
 * OpenClaw names the transcript of a topic or thread after the session and the thread, and may omit `sessionFile`. A
 * value that is not a string counts as omitted.
 */
function openClawFiles(key: string, id: string | undefined, meta: JsonObject): readonly unknown[] {
  const { sessionFile, lastThreadId } = meta;
  if (id === undefined || textIn(sessionFile) !== undefined) return [sessionFile];
  const [, ofKey] = /:(?:topic|thread):([^:]+)$/.exec(key) ?? [];
  const threads = [ofKey, lastThreadId].filter(
    (each) => typeof each === 'string' || typeof each === 'number',
  );
  return [
    ...threads.map((thread) => `${id}-topic-${encodeURIComponent(String(thread).toWellFormed())}.jsonl`),
    `${id}.jsonl`,
  ];
}

/** An index names files in its own folder, sometimes with a full path. Only the file name is used. */
function fileName(value: unknown): string | undefined {
  const file = basename(textIn(value) ?? '');
  return file.endsWith('.jsonl') && file !== '.jsonl' ? file : undefined;
}

/** If several entries name one file, the first in this order wins: valid keys before invalid ones, then the newest. */
function byTrust(a: IndexEntry, b: IndexEntry): number {
  return Number(a.hasInvalidKey) - Number(b.hasInvalidKey) || newestFirst(a.described, b.described);
}

export function newestFirst(
  { indexedAt: a = '' }: Pick<Described, 'indexedAt'>,
  { indexedAt: b = '' }: Pick<Described, 'indexedAt'>,
): number {
  return a < b ? 1 : a > b ? -1 : 0;
}

function isInvalidKey(key: string | undefined): boolean {
  if (key === undefined) return false;
  try {
    canonicalSourceKey(key);
    return false;
  } catch (error) {
    if (error instanceof RepriseError) return true;
    throw error;
  }
}

function mostOf(entries: readonly IndexEntry[]): IndexForm | undefined {
  const forms = Map.groupBy(entries, ({ form }) => form);
  return [...forms].sort(([, a], [, b]) => b.length - a.length)[0]?.[0];
}

const MAX_NAMES_IN_A_LINE = 5;

function some(names: readonly string[]): string {
  const rest = names.length - MAX_NAMES_IN_A_LINE;
  return `${names.slice(0, MAX_NAMES_IN_A_LINE).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function timeIn(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? isoTime(value) : undefined;
}

function quote(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 100) ?? 'nothing';
}
