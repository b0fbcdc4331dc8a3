import { createHash } from 'node:crypto';
import { RepriseError } from '../../errors.ts';
import { loadBlobs } from '../../store/copy/load-blobs.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { hydrateBlobs } from '../../transcript/blobs.ts';
import { type Entry, entryTime } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { parseTranscript } from '../../transcript/reader.ts';

/** By what a later import of the same source is recognized; an index may change without the session. */
export interface SourceIdentity {
  readonly hash: string;
  readonly agentId: string | undefined;
}

export function contentHash(entries: readonly Entry[], headerKey: unknown): string {
  // Earlier versions hashed a title and settings of an index too; where there was no index, their hashes are still found.
  const hash = createHash('sha256').update(JSON.stringify([headerKey ?? null, null, null]));
  for (const entry of entries) hash.update('\n').update(JSON.stringify(entry));
  return hash.digest('hex');
}

interface Recognized {
  /** `taken`: the id belongs to another session here. */
  readonly verdict: 'new' | 'resume' | 'unchanged' | 'settings' | 'deleted' | 'taken';
  readonly record?: SessionRecord;
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
  const { hash, agentId } = wanted.identity;
  const isSameAgent = mark['agentId'] === undefined || agentId === undefined || mark['agentId'] === agentId;
  const isSame =
    mark['hash'] === hash
      ? isSameAgent
      : record.agentId === wanted.agentId && (await hasMessages(store, record, wanted.entries));
  if (!isSame) return { verdict: 'taken' };
  if (record.status === 'deleted') return { verdict: 'deleted', record };
  if (mark['hash'] === hash && mark['state'] !== 'done') return { verdict: 'resume', record };
  const hasMore = Array.isArray(mark['settingsNotApplied']) && mark['settingsNotApplied'].length > 0;
  return { verdict: wanted.acceptSettings && hasMore ? 'settings' : 'unchanged', record };
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

/**
 * Whether a session here has every message of the source. Ids differ in a copy, and an earlier version may have recognized
 * the source by more than its text.
 */
async function hasMessages(store: Store, { id }: SessionRecord, entries: readonly Entry[]): Promise<boolean> {
  const { entries: stored } = parseTranscript(await store.exportSession(id), { sessionId: id });
  const whole = hydrateBlobs(stored, await loadBlobs(store, id, stored));
  const counts = new Map<string, number>();
  for (const text of messageTexts(whole)) counts.set(text, (counts.get(text) ?? 0) + 1);
  return messageTexts(entries).every((text) => {
    const left = counts.get(text) ?? 0;
    counts.set(text, left - 1);
    return left > 0;
  });
}

function messageTexts(entries: readonly Entry[]): string[] {
  return entries
    .filter(({ type }) => type === 'message')
    .map((entry) => JSON.stringify([entryTime(entry), entry['message']]));
}
