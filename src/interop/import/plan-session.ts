import { createHash } from 'node:crypto';
import { RepriseError } from '../../errors.ts';
import { isSessionId } from '../../keys/ids.ts';
import { formatSessionKey, parseSessionKey } from '../../keys/session-key.ts';
import { loadBlobs } from '../../store/load-blobs.ts';
import type { SessionRecord, Store } from '../../store/store.ts';
import { blobNames, hydrateBlobs } from '../../transcript/blobs.ts';
import { type Entry, entryTime } from '../../transcript/entry.ts';
import { assertStorable, isObject, type JsonObject } from '../../transcript/json.ts';
import { parseTranscript } from '../../transcript/reader.ts';
import type { FoundSession } from './source.ts';

export type ImportAction =
  /** Nothing of it is here yet. */
  | 'new'
  /** An import of it was cut short. */
  | 'resume'
  /** This very session is here, imported before or its original. */
  | 'unchanged'
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
  /** What cannot be kept, and what was wrong with it. */
  readonly notes: readonly string[];
}

export interface PlannedSession {
  readonly plan: SessionPlan;
  readonly hash: string;
  readonly entries: readonly Entry[];
  readonly settings: JsonObject;
  readonly title: string | undefined;
  readonly cwd: string | undefined;
  readonly parentId: string | undefined;
  readonly active: boolean | undefined;
}

export interface PlanOptions {
  /** All sessions become this agent's. */
  readonly agentId?: string | undefined;
}

/** Reads one session and says what an import of it would do; changes nothing. */
export async function planSession(
  store: Store,
  found: FoundSession,
  options: PlanOptions = {},
): Promise<PlannedSession> {
  const { header, entries: read, problems } = await found.read();
  const notes = [...problems];
  const entries = prepareEntries(read, notes);
  const given = found.id ?? header?.id ?? found.fallbackId;
  const hash = contentHash(entries, [found.key ?? header?.key, found.title, found.settings]);
  const named = given !== undefined && isSessionId(given) ? given : `import-${hash.slice(0, 16)}`;
  if (given !== undefined && named !== given)
    notes.push(`its id ${JSON.stringify(given.slice(0, 80))} is none here; it becomes ${named}`);
  const key = keyFor(found, header?.key, named, options, notes);
  const other = `${named.slice(0, 110)}-${hash.slice(0, 12)}`;
  const first = await judge(store, named, key, hash, entries);
  const conflict = first === 'taken';
  const second = conflict ? await judge(store, other, key, hash, entries) : first;
  if (conflict) notes.push(`the id ${named} is another session's here; this one becomes ${other}`);
  const parent = header?.parentSession;
  return {
    plan: {
      place: found.place,
      action: second === 'taken' ? 'deleted' : second,
      id: conflict ? other : named,
      key,
      title: found.title ?? '',
      messages: entries.filter(isSpoken).length,
      entries: entries.length,
      conflict,
      notes,
    },
    hash,
    entries,
    settings: found.settings ?? {},
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

async function judge(
  store: Store,
  id: string,
  key: string,
  hash: string,
  entries: readonly Entry[],
): Promise<Verdict> {
  const record = await existing(store, id);
  if (record === undefined) return 'new';
  if (record === 'purged') return 'taken';
  const mark = record.settings['importedFrom'];
  if (isObject(mark) && mark['hash'] === hash) {
    if (record.status === 'deleted') return 'deleted';
    return mark['state'] === 'done' ? 'unchanged' : 'resume';
  }
  const isOriginal = record.sessionKey === key && (await hasEntries(store, record, entries));
  if (!isOriginal) return 'taken';
  return record.status === 'deleted' ? 'deleted' : 'unchanged';
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
      const parts = parseSessionKey(key);
      return formatSessionKey(
        agentId === undefined || parts.kind === 'global' ? parts : { ...parts, agentId },
      );
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      notes.push(`its key ${JSON.stringify(key.slice(0, 120))} is none here: ${error.message}`);
    }
  }
  return formatSessionKey({ kind: 'session', agentId: agentId ?? found.agentId, id });
}

function isSpoken({ type, message }: Entry): boolean {
  return type === 'message' && isObject(message) && /^(?:user|assistant)$/.test(String(message['role']));
}
