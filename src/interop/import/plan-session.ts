import { createHash } from 'node:crypto';
import { RepriseError } from '../../errors.ts';
import { DEFAULT_AGENT_ID, isSessionId } from '../../keys/ids.ts';
import { formatSessionKey, parseSessionKey } from '../../keys/session-key.ts';
import { loadBlobs } from '../../store/load-blobs.ts';
import type { NewEntry, SessionRecord, Store } from '../../store/store.ts';
import { blobNames, hydrateBlobs } from '../../transcript/blobs.ts';
import { type Entry, entryTime } from '../../transcript/entry.ts';
import { assertStorable, isObject, type JsonObject } from '../../transcript/json.ts';
import { parseTranscript } from '../../transcript/reader.ts';
import type { FoundSession } from './source.ts';
import { canonicalSourceKey } from './source-key.ts';
import { separateSettings } from './source-settings.ts';

export type ImportAction =
  /** Nothing of it is here yet. */
  | 'new'
  /** An import of it was cut short. */
  | 'resume'
  /** This very session is here, imported before or its original. */
  | 'unchanged'
  /** It was imported without its settings, which are accepted now. */
  | 'settings'
  /** It was here and was deleted; it is not brought back behind anybody's back. */
  | 'deleted'
  | 'unreadable';

/** What would become of one session. */
export interface SessionPlan {
  readonly place: string;
  readonly action: ImportAction;
  readonly id: string;
  readonly key: string;
  readonly title: string;
  readonly messages: number;
  readonly entries: number;
  /** Its own id is another session's here. */
  readonly conflict: boolean;
  /** Settings in the source that are not applied: `model`, `systemPrompt`, `pins` and the like. */
  readonly settingsNotApplied: readonly string[];
  /** What cannot be kept, and what was wrong with it. */
  readonly notes: readonly string[];
}

export interface PlannedSession {
  readonly plan: SessionPlan;
  readonly hash: string;
  readonly entries: readonly Entry[];
  readonly settings: JsonObject;
  /** What applies the settings of a session that was imported without them. */
  readonly later: readonly NewEntry[];
  readonly title: string | undefined;
  readonly cwd: string | undefined;
  readonly parentId: string | undefined;
  readonly active: boolean | undefined;
}

export interface PlanOptions {
  /** All sessions become this agent's. */
  readonly agentId?: string | undefined;
  /** Apply system prompt, model, pins and all other settings of the source too. Unset: only names. */
  readonly acceptSettings?: boolean | undefined;
}

/** Reads one session and says what an import of it would do; changes nothing. */
export async function planSession(
  store: Store,
  found: FoundSession,
  options: PlanOptions = {},
): Promise<PlannedSession> {
  const { header, entries: read, problems } = await found.read();
  const notes = [...(found.notes ?? []), ...problems];
  const { acceptSettings = false } = options;
  const entries = prepareEntries(read, notes);
  checkContent(found.place, entries, notes);
  const indexed = found.settings ?? {};
  const given = found.id ?? header?.id ?? found.fallbackId;
  const hash = contentHash(entries, [found.key ?? header?.key, found.title, found.settings]);
  const named = given !== undefined && isSessionId(given) ? given : `import-${hash.slice(0, 16)}`;
  if (given !== undefined && named !== given)
    notes.push(`its id ${JSON.stringify(given.slice(0, 80))} is none here; it becomes ${named}`);
  const key = keyFor(found, header?.key, named, options, notes);
  const other = `${named.slice(0, 110)}-${hash.slice(0, 12)}`;
  const wanted = { key, hash, entries, acceptSettings };
  const first = await judge(store, named, wanted);
  const conflict = first === 'taken';
  const second = conflict ? await judge(store, other, wanted) : first;
  if (conflict) notes.push(`the id ${named} is another session's here; this one becomes ${other}`);
  const id = conflict ? other : named;
  // The second half of a session must fit its first half.
  const accepts = second === 'resume' ? await acceptedBefore(store, id) : acceptSettings;
  const separated = separateSettings(entries, indexed);
  const parent = header?.parentSession;
  return {
    plan: {
      place: found.place,
      action: second === 'taken' ? 'deleted' : second,
      id,
      key,
      title: found.title ?? '',
      messages: entries.filter(isSpoken).length,
      entries: entries.length,
      conflict,
      settingsNotApplied: accepts || !(second === 'new' || second === 'resume') ? [] : separated.notApplied,
      notes,
    },
    hash,
    entries: accepts ? entries : separated.entries,
    settings: accepts ? indexed : separated.settings,
    later: separated.later,
    title: found.title,
    cwd: typeof header?.cwd === 'string' && header.cwd !== '' ? header.cwd : undefined,
    parentId: typeof parent === 'string' && isSessionId(parent) ? parent : undefined,
    active: found.active,
  };
}

/** Side entries of ours that still mean the same in a copy. The others tell of keys and files of the place they left. */
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
    const { seal: _, copiedAt: _copied, ...rest } = entry;
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

function contentHash(entries: readonly Entry[], facts: readonly unknown[]): string {
  const hash = createHash('sha256').update(JSON.stringify(facts));
  for (const entry of entries) hash.update('\n').update(JSON.stringify(entry));
  return hash.digest('hex');
}

type Verdict = Exclude<ImportAction, 'unreadable'> | 'taken';

interface Wanted {
  readonly key: string;
  readonly hash: string;
  readonly entries: readonly Entry[];
  readonly acceptSettings: boolean;
}

async function judge(
  store: Store,
  id: string,
  { key, hash, entries, acceptSettings }: Wanted,
): Promise<Verdict> {
  const record = await existing(store, id);
  if (record === undefined) return 'new';
  if (record === 'purged') return 'taken';
  const mark = record.settings['importedFrom'];
  if (isObject(mark) && mark['hash'] === hash) {
    if (record.status === 'deleted') return 'deleted';
    if (mark['state'] !== 'done') return 'resume';
    const hasMore = Array.isArray(mark['settingsNotApplied']) && mark['settingsNotApplied'].length > 0;
    return acceptSettings && hasMore ? 'settings' : 'unchanged';
  }
  const isOriginal = record.sessionKey === key && (await hasEntries(store, record, entries));
  if (!isOriginal) return 'taken';
  return record.status === 'deleted' ? 'deleted' : 'unchanged';
}

async function acceptedBefore(store: Store, id: string): Promise<boolean> {
  const mark = (await store.get(id)).settings['importedFrom'];
  return !isObject(mark) || mark['settingsNotApplied'] === undefined;
}

async function existing(store: Store, id: string): Promise<SessionRecord | 'purged' | undefined> {
  try {
    return await store.get(id);
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error;
    if (error.code === 'SESSION_NOT_FOUND') return undefined;
    if (error.code === 'GONE') return 'purged';
    throw error;
  }
}

/** An export that comes back to the home it left: what is here begins with it, word for word. */
async function hasEntries(store: Store, { id }: SessionRecord, entries: readonly Entry[]): Promise<boolean> {
  const { entries: stored } = parseTranscript(await store.exportSession(id), { sessionId: id });
  const whole = hydrateBlobs(stored, await loadBlobs(store, id, stored));
  const here = new Map(prepareEntries(whole, []).map((entry) => [entry.id, JSON.stringify(entry)]));
  return entries.every((entry) => here.get(entry.id) === JSON.stringify(entry));
}

function keyFor(
  found: FoundSession,
  headerKey: unknown,
  id: string,
  { agentId }: PlanOptions,
  notes: string[],
): string {
  for (const key of [found.key, headerKey]) {
    if (typeof key !== 'string') continue;
    try {
      const parts = parseSessionKey(canonicalSourceKey(key));
      return formatSessionKey(
        agentId === undefined || parts.kind === 'global' ? parts : { ...parts, agentId },
      );
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      notes.push(`its key ${JSON.stringify(key.slice(0, 120))} is none here: ${error.message}`);
    }
  }
  return formatSessionKey({ kind: 'session', agentId: agentId ?? found.agentId ?? DEFAULT_AGENT_ID, id });
}

/** Messages without words are the mark of a file that was misread; storing them would look like a success. */
function checkContent(place: string, entries: readonly Entry[], notes: string[]): void {
  const spoken = entries.filter(isSpoken);
  const empty = spoken.filter(({ message }) => !hasContent(message)).length;
  if (spoken.length > 0 && empty === spoken.length)
    throw new RepriseError('INVALID_INPUT', `${place}: none of its ${spoken.length} messages has content`, {
      details: { next: 'It may be a file of a tool that cannot be imported yet.' },
    });
  const undated = spoken.filter((entry) => Date.parse(entryTime(entry)) === 0).length;
  if (undated > 0) notes.push(`${undated} messages have no time; they are dated 1970`);
}

function hasContent(message: unknown): boolean {
  const content = isObject(message) ? message['content'] : undefined;
  return (typeof content === 'string' || Array.isArray(content)) && content.length > 0;
}

function isSpoken({ type, message }: Entry): boolean {
  return type === 'message' && isObject(message) && /^(?:user|assistant)$/.test(String(message['role']));
}
