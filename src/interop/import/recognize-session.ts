import { createHash } from 'node:crypto';
import { RepriseError } from '../../errors.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { type Entry, entryTime } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { matchStored, type StoredPart } from './match-stored.ts';
import { entryHash, sourceEntryOf, withoutSource } from './source-entry.ts';

/** By what a later import of the same source is recognized; an index may change without the session. */
export interface SourceIdentity {
  readonly tool: string;
  /** The id of the session in its source; undefined if it has none. */
  readonly sourceId: string | undefined;
  readonly hash: string;
  readonly agentId: string | undefined;
}

/** Of all entries with their ids, so that a source that did not change is recognized without reading what is stored. */
export function contentHash(entries: readonly Entry[], headerKey: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify(headerKey ?? null));
  for (const entry of entries) {
    const { id, parentId } = entry;
    hash.update(`\n${JSON.stringify([id, parentId, sourceEntryOf(entry)?.hash ?? entryHash(entry)])}`);
  }
  return hash.digest('hex');
}

/** The hash of earlier versions, which named sessions after it. */
export function oldContentHash(entries: readonly Entry[], headerKey: unknown): string {
  const hash = createHash('sha256').update(JSON.stringify([headerKey ?? null, null, null]));
  for (const entry of entries) hash.update('\n').update(JSON.stringify(withoutSource(entry)));
  return hash.digest('hex');
}

/** Of the first message, which stays the same while a source grows. */
export function beginningHash(entries: readonly Entry[]): string {
  const first = entries.find(({ type }) => type === 'message' || type === 'compaction') ?? entries[0];
  const content = first === undefined ? '' : `${entryTime(first)} ${entryHash(first)}`;
  return createHash('sha256').update(content).digest('hex');
}

export interface Recognized {
  /** `taken`: the id belongs to another session here. */
  readonly verdict: 'new' | 'resume' | 'grown' | 'unchanged' | 'settings' | 'deleted' | 'taken';
  readonly record?: SessionRecord;
  /** The imported part of a source that was not imported completely. */
  readonly part?: StoredPart;
}

interface Wanted {
  /** Of its key here. */
  readonly agentId: string;
  readonly identity: SourceIdentity;
  readonly entries: readonly Entry[];
  readonly acceptSettings: boolean;
}

/** Compares a session of a source with the one that has its id here. */
export async function recognizeSession(store: Store, id: string, wanted: Wanted): Promise<Recognized> {
  const record = await existing(store, id);
  if (record === undefined) return { verdict: 'new' };
  if (record === 'purged') return { verdict: 'taken' };
  const { importedFrom } = record.settings;
  const mark = isObject(importedFrom) ? importedFrom : {};
  const { hash, agentId, tool, sourceId } = wanted.identity;
  const isSameAgent = mark['agentId'] === undefined || agentId === undefined || mark['agentId'] === agentId;
  const hasMore = Array.isArray(mark['settingsNotApplied']) && mark['settingsNotApplied'].length > 0;
  const whole: Recognized = { verdict: wanted.acceptSettings && hasMore ? 'settings' : 'unchanged', record };
  const isOld = mark['tool'] === undefined;
  const isSource = isOld || (familyOf(mark['tool']) === familyOf(tool) && mark['sourceId'] === sourceId);
  if (mark['hash'] === hash && isSameAgent && isSource) {
    if (record.status === 'deleted') return { verdict: 'deleted', record };
    if (mark['state'] === 'done') return whole;
  }
  const isCopy = mark['hash'] === hash && isSameAgent && isSource;
  if (!isCopy && !(isSource && isSameAgent && record.agentId === wanted.agentId)) return { verdict: 'taken' };
  // An import that was interrupted before it stored a message leaves nothing to compare.
  const isEmptyCopy = (isCopy || !isOld) && mark['state'] === 'copying' && record.messageCount === 0;
  const isOriginal = mark['hash'] === undefined;
  let part = await matchStored(store, record, wanted.entries, { byText: isOld && !isOriginal });
  const isComplete = part.stored.size === part.entries.length && part.changed === 0;
  if (isOriginal && (FLAT_TOOLS.has(tool) || !isContinuation(part))) {
    // Exports to other tools keep times and texts, and lose ids.
    part = await matchStored(store, record, wanted.entries, { byText: true });
    if (!hasAllMessages(part)) return { verdict: 'taken' };
  }
  if (!isEmptyCopy && !part.hasBeginning && !isComplete) return { verdict: 'taken' };
  if (record.status === 'deleted') return { verdict: 'deleted', record };
  if (mark['state'] === 'copying') return { verdict: 'resume', record, part };
  return isComplete || (isOld && hasAllMessages(part)) ? whole : { verdict: 'grown', record, part };
}

/** Which of these tools wrote a folder of transcripts is only known from its index, which can be lost. */
const WITH_INDEX: ReadonlySet<unknown> = new Set(['pi', 'openclaw', 'claw0', 'claw0-classic', 'zyhive']);

function familyOf(tool: unknown): unknown {
  return WITH_INDEX.has(tool) ? 'transcripts' : tool;
}

/** Their files have no entry ids, so a copy that comes back cannot be continued entry by entry. */
const FLAT_TOOLS: ReadonlySet<string> = new Set(['claw0', 'claw0-classic', 'zyhive', 'zeroclaw']);

/** The source has the beginning of the session with the same ids, and new entries only behind it. */
function isContinuation({ entries, stored, changed }: StoredPart): boolean {
  return stored.size > 0 && changed === 0 && entries.every((_, i) => stored.has(i) === i < stored.size);
}

function hasAllMessages({ entries, stored }: StoredPart): boolean {
  return entries.every(({ type }, position) => type !== 'message' || stored.has(position));
}

export async function acceptedBefore(store: Store, id: string): Promise<boolean> {
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
