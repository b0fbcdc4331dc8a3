import { createHash } from 'node:crypto';
import { RepriseError } from '../../errors.ts';
import { DEFAULT_AGENT_ID, isSessionId } from '../../keys/ids.ts';
import { agentOfKey } from '../../keys/session-key.ts';
import { failure } from '../../messages/failure.ts';
import type { NewEntry, Store } from '../../store/port/store.ts';
import { blobNames } from '../../transcript/blobs.ts';
import { type Entry, entryTime } from '../../transcript/entry.ts';
import { assertStorable, isObject, type JsonObject } from '../../transcript/json.ts';
import { LossCounter, type LossReport, lossText, NO_LOSS } from './loss-report.ts';
import type { StoredPart } from './match-stored.ts';
import { normalizeEntries } from './normalize-entries.ts';
import {
  acceptedBefore,
  beginningHash,
  contentHash,
  oldContentHash,
  type Recognized,
  recognizeSession,
  type SourceIdentity,
} from './recognize-session.ts';
import { type FoundSession, originOf } from './source.ts';
import { answerBlocks, entryHash, sourceFields, withoutSource } from './source-entry.ts';
import { type ChosenKey, chooseKey, type KeyClaims, type KeyOptions, readSourceKey } from './source-key.ts';
import { separateSettings } from './source-settings.ts';

export type ImportAction =
  /** Nothing of it was imported before. */
  | 'new'
  /** An earlier import of it was interrupted. */
  | 'resume'
  /** It was imported, and the source has new entries. */
  | 'grown'
  /** The same session exists: it was imported before, or it is the original. */
  | 'unchanged'
  /** It was imported without its settings, which are accepted now. */
  | 'settings'
  /** It was imported and then deleted by the user, so it is not imported again. */
  | 'deleted'
  | 'unreadable';

/** The plan for one session. */
export interface SessionPlan {
  readonly place: string;
  readonly action: ImportAction;
  readonly id: string;
  readonly key: string;
  readonly title: string;
  readonly messages: number;
  readonly entries: number;
  /** Another session here has its id. */
  readonly conflict: boolean;
  /** The tool that wrote it. */
  readonly tool: string;
  /** Entries that this import adds. */
  readonly added: number;
  /** Entries that changed in the source since they were imported. Each becomes a branch. */
  readonly changed: number;
  /** When its first and its last message were written; empty if the source has no times. */
  readonly firstAt: string;
  readonly lastAt: string;
  readonly loss: LossReport;
  /** Settings of the source that are not applied: `model`, `systemPrompt`, `pins` and the like. */
  readonly settingsNotApplied: readonly string[];
  /** Data that cannot be imported, and problems in the source. */
  readonly notes: readonly string[];
}

export interface PlannedSession {
  readonly plan: SessionPlan;
  /** Recognizes a later import of the same source. */
  readonly identity: SourceIdentity;
  readonly entries: readonly Entry[];
  readonly settings: JsonObject;
  /** Entries that apply the settings of a session that was imported without them. */
  readonly later: readonly NewEntry[];
  readonly title: string | undefined;
  readonly cwd: string | undefined;
  readonly parentId: string | undefined;
  readonly times: SourceTimes;
  readonly chosenKey: ChosenKey;
  /** What is already here of it. */
  readonly part: StoredPart | undefined;
  /** Its key in the source, if it gets another key here. */
  readonly sourceKey: string | undefined;
}

/** ISO times; undefined if neither the messages nor an index have one. */
export interface SourceTimes {
  readonly createdAt?: string;
  readonly lastAt?: string;
}

export interface PlanOptions extends KeyOptions {
  /** Also apply system prompt, model, pins and other settings of the source. Otherwise only names are imported. */
  readonly acceptSettings?: boolean | undefined;
}

const MAX_SOURCE_KEY_CHARS = 4096;

/** Reads one session and plans its import. Does not change the store. */
export async function planSession(
  store: Store,
  found: FoundSession,
  options: PlanOptions = {},
  claims: KeyClaims = new Map(),
): Promise<PlannedSession> {
  const { header, entries: read, problems, loss = NO_LOSS, settings: inFile } = await found.read();
  const notes = [...(found.notes ?? []), ...problems];
  const { acceptSettings = false } = options;
  const entries = withSources(normalizeEntries(prepareEntries(read, notes)));
  checkContent(found.place, entries, notes, found.mayBeEmpty === true);
  const indexed = { ...inFile, ...found.settings };
  const given = found.id ?? header?.id ?? found.fallbackId;
  const hash = contentHash(entries, header?.key);
  const identity = { tool: found.tool ?? 'pi', sourceId: given, hash, agentId: found.agentId };
  const sourceKey = readSourceKey(found, header?.key, options, notes);
  const { agentId: asked = found.agentId ?? DEFAULT_AGENT_ID } = options;
  const agentId = sourceKey === undefined ? asked : agentOfKey(sourceKey.key);
  const wanted = { agentId, identity, entries, acceptSettings };
  const { id, named, conflict, verdict, record, part } = await findSession(store, given, wanted, header?.key);
  if (given !== undefined && named !== given)
    notes.push(`its id ${JSON.stringify(given.slice(0, 80))} is not valid here; it becomes ${named}`);
  if (conflict) notes.push(`another session here has the id ${named}; this one becomes ${id}`);
  const times = timesOf(entries, found.indexedAt);
  const { createdAt = '', lastAt = '' } = times;
  const isWork = verdict === 'new' || verdict === 'resume';
  const mayTakeKey = isWork && found.active !== false;
  const chosenKey: ChosenKey =
    record === undefined
      ? await chooseKey(store, { id, agentId, sourceKey, mayTakeKey, lastAt, claims }, notes)
      : { key: record.sessionKey, takesKey: mayTakeKey };
  const { key } = chosenKey;
  const givenKey = [found.key, header?.key].find((each) => typeof each === 'string' && each !== key);
  if (chosenKey.takesKey) claims.set(key, { id, lastAt });
  // A resumed import must use the same options as its first part.
  const accepts = verdict === 'resume' ? await acceptedBefore(store, id) : acceptSettings;
  const separated = separateSettings(part?.entries ?? entries, indexed);
  const parent = found.parentId ?? header?.parentSession ?? originOf(header);
  const changed = part?.changed ?? 0;
  if (changed > 0 && verdict === 'grown')
    notes.push(`${changed} entries changed in the source since the last import; they are added as a branch`);
  if (Object.keys(loss.raw).length > 0)
    notes.push(`stored as they are, without effect: ${lossText(loss.raw)}`);
  if (Object.keys(loss.dropped).length > 0) notes.push(`not imported: ${lossText(loss.dropped)}`);
  const title = found.title ?? titleIn(header) ?? '';
  return {
    plan: {
      place: found.place,
      action: verdict === 'taken' ? 'deleted' : verdict,
      id,
      key,
      title,
      messages: entries.filter(isSpoken).length,
      entries: entries.length,
      conflict,
      tool: identity.tool,
      added: isWork || verdict === 'grown' ? (part?.entries ?? entries).length - (part?.stored.size ?? 0) : 0,
      changed,
      firstAt: createdAt,
      lastAt,
      loss: Object.keys(loss.imported).length > 0 ? loss : { ...loss, imported: countKinds(entries) },
      settingsNotApplied: accepts || !(isWork || verdict === 'grown') ? [] : separated.notApplied,
      notes,
    },
    identity,
    entries: accepts ? (part?.entries ?? entries) : separated.entries,
    settings: accepts ? indexed : separated.settings,
    later: separated.later,
    title: title === '' ? undefined : title,
    cwd: typeof header?.cwd === 'string' && header.cwd !== '' ? header.cwd : undefined,
    parentId: typeof parent === 'string' && isSessionId(parent) ? parent : undefined,
    times,
    chosenKey,
    part,
    sourceKey: givenKey === undefined || givenKey.length > MAX_SOURCE_KEY_CHARS ? undefined : givenKey,
  };
}

function titleIn(header: { readonly title?: unknown } | undefined): string | undefined {
  return typeof header?.title === 'string' && header.title !== '' ? header.title : undefined;
}

type Wanted = Parameters<typeof recognizeSession>[2];

/**
 * Finds the session of a source by its id there. If that id belongs to another session here, a hash is appended: of what
 * does not change when the source grows.
 */
async function findSession(
  store: Store,
  given: string | undefined,
  wanted: Wanted,
  headerKey: unknown,
): Promise<Recognized & { readonly id: string; readonly named: string; readonly conflict: boolean }> {
  const { entries, identity } = wanted;
  const beginning = beginningHash(entries);
  const isNamed = given !== undefined && isSessionId(given);
  const source = sha256(JSON.stringify([identity.tool, given ?? beginning]));
  const named = isNamed ? given : `import-${source.slice(0, 16)}`;
  const first = await recognizeSession(store, named, wanted);
  if (first.verdict !== 'taken' && (isNamed || first.verdict !== 'new'))
    return { ...first, id: named, named, conflict: false };
  // Names that earlier versions gave, which depend on the whole content.
  const old = oldContentHash(entries, headerKey);
  const oldNamed = isNamed ? named : `import-${old.slice(0, 16)}`;
  const others = isNamed
    ? [otherId(named, old, identity.agentId)]
    : [oldNamed, otherId(oldNamed, old, identity.agentId)];
  for (const id of others) {
    const found = await recognizeSession(store, id, wanted);
    if (found.verdict !== 'new' && found.verdict !== 'taken')
      return { ...found, id, named, conflict: isNamed };
  }
  if (first.verdict === 'new') return { ...first, id: named, named, conflict: false };
  const other = otherId(named, sha256(`${identity.tool} ${beginning}`), identity.agentId);
  const second = await recognizeSession(store, other, wanted);
  if (second.verdict !== 'taken') return { ...second, id: other, named, conflict: true };
  const last = otherId(named, identity.hash, identity.agentId);
  return { ...(await recognizeSession(store, last, wanted)), id: last, named, conflict: true };
}

/** Gives each entry the field by which a later import finds it. */
function withSources(entries: readonly Entry[]): readonly Entry[] {
  return entries.map((entry) => {
    const blocks = answerBlocks(entry)?.length;
    const source = { id: entry.id, hash: entryHash(entry), ...(blocks !== undefined && { blocks }) };
    return { ...entry, ...sourceFields(source) };
  });
}

function countKinds(entries: readonly Entry[]): LossReport['imported'] {
  const counter = new LossCounter();
  for (const { type, message } of entries)
    counter.imported(type === 'message' && isObject(message) ? String(message['role']) : type);
  return counter.report.imported;
}

/** Reprise side entries that have the same meaning in a copy. The others refer to keys and files of the source. */
const KEPT_SIDE_ENTRIES: ReadonlySet<unknown> = new Set([
  'reprise.turn',
  'reprise.calls',
  'reprise.pin',
  'reprise.settings',
  'reprise.leaf',
]);

function prepareEntries(read: readonly Entry[], notes: string[]): Entry[] {
  let unstorable = 0;
  const entries = read.flatMap((entry) => {
    const { seal: _, copiedAt: _copied, ...rest } = withoutSource(entry) as Entry;
    const { type, customType, data } = entry;
    if (type === 'session' || type === '') return [];
    if (type === 'custom' && String(customType).startsWith('reprise.')) {
      if (!KEPT_SIDE_ENTRIES.has(customType)) return [];
      if (customType === 'reprise.settings' && isObject(data) && 'importedFrom' in data) {
        const { importedFrom: _mark, ...settings } = data;
        if (Object.keys(settings).length === 0) return [];
        return [{ ...rest, data: settings, timestamp: entryTime(entry) } as Entry];
      }
    }
    if (!isStorable(rest)) {
      unstorable++;
      return [];
    }
    return [{ ...rest, timestamp: entryTime(entry) } as Entry];
  });
  if (unstorable > 0)
    notes.push(`${unstorable} lines cannot be stored (numbers beyond a double) and stay behind`);
  const lost = blobNames(entries).size;
  if (lost > 0) notes.push(`${lost} large parts are not beside the file; their beginnings are kept`);
  return entries;
}

function isStorable(entry: JsonObject): boolean {
  try {
    assertStorable(entry);
    return true;
  } catch (error) {
    if (error instanceof RepriseError) return false;
    throw error;
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A second id, because copied agents can have sessions with the same id and text. */
function otherId(named: string, hash: string, agentId: string | undefined): string {
  const hashes = sha256(`${hash} ${agentId}`);
  return `${named.slice(0, 110)}-${(agentId === undefined ? hash : hashes).slice(0, 12)}`;
}

/**
 * When the first and the last message were written. A time in the future counts as now, so that a wrong clock does not
 * keep a session at the top of every list for years.
 */
function timesOf(entries: readonly Entry[], indexedAt: string | undefined): SourceTimes {
  const spoken = entries.filter(({ type }) => type === 'message' || type === 'compaction');
  const sources = [spoken.map(entryTime), entries.map(entryTime), indexedAt === undefined ? [] : [indexedAt]];
  const now = Date.now();
  for (const source of sources) {
    let [first, last] = [now, 0];
    for (const time of source) {
      const ms = Math.min(Date.parse(time), now);
      if (!(ms > 0)) continue;
      first = Math.min(first, ms);
      last = Math.max(last, ms);
    }
    if (last > 0) return { createdAt: new Date(first).toISOString(), lastAt: new Date(last).toISOString() };
  }
  return {};
}

/** Messages without text mean that the file was misread, or that it has nothing to import: no success in either case. */
function checkContent(place: string, entries: readonly Entry[], notes: string[], mayBeEmpty: boolean): void {
  const spoken = entries.filter(isSpoken);
  const hasOther = entries.some(({ type }) => type === 'compaction' || type === 'custom_message');
  const isEmpty =
    spoken.length === 0 ? !mayBeEmpty && !hasOther : !spoken.some(({ message }) => hasContent(message));
  if (isEmpty) throw failure('INVALID_INPUT', 'import.noContent', { path: place, messages: spoken.length });
  const undated = spoken.filter((entry) => Date.parse(entryTime(entry)) === 0).length;
  if (undated > 0) notes.push(`${undated} messages have no time; they are dated 1970`);
}

function hasContent(message: unknown): boolean {
  const content = isObject(message) ? message['content'] : undefined;
  if (!Array.isArray(content)) return typeof content === 'string' && content !== '';
  return (content as readonly unknown[]).some((block) => {
    if (!isObject(block)) return typeof block === 'string' && block !== '';
    const { type, text, thinking } = block;
    return (
      [text, thinking].some((each) => typeof each === 'string' && each !== '') ||
      type === 'toolCall' ||
      type === 'image'
    );
  });
}

function isSpoken({ type, message }: Entry): boolean {
  return type === 'message' && isObject(message) && /^(?:user|assistant)$/.test(String(message['role']));
}
