import { RepriseError } from '../../errors.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import type { NewEntry, SessionRecord, Store } from '../../store/port/store.ts';
import { customData, type Entry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { newestFirst } from '../history/read-history.ts';
import { isRunning, isWaiting } from './queue.ts';

/**
 * Somebody's message runs before the next one that is accepted. It was said to the conversation as it is, so nothing is
 * taken back until it has had its turn.
 */
export async function isSpokenFor(store: Store, sessionId: string): Promise<boolean> {
  const rows = await store.inbox.pending(sessionId);
  return rows.some((item) => isWaiting(item) || isRunning(item));
}

/** For the body of a message that is said where this step leads, when its turn has come. */
export function placeOf({ parentId, data }: NewEntry): JsonObject {
  const { undoes: _left, ...rest } = isObject(data) ? data : {};
  return { parentId: (parentId ?? null) as string | null, data: rest };
}

/**
 * Goes to the place of a message that has one, at the beginning of its turn; once, however often that is tried, unless
 * somebody has left it again before the words were there.
 */
export async function goToPlace(
  store: Store,
  item: InboxItem,
  { leaf, lastSeq }: Pick<SessionRecord, 'leaf' | 'lastSeq'>,
  epoch: number,
): Promise<void> {
  const { inboxId, sessionId, body } = item;
  const { place } = body;
  if (!isObject(place)) return;
  const { parentId, data } = place as { parentId: string | null; data: JsonObject };
  const undoes = leaf === null ? {} : { undoes: leaf };
  const step = { type: 'custom', customType: 'reprise.leaf', parentId, data: { ...undoes, ...data } };
  const key = stepKey(inboxId);
  try {
    const stored = await store.append(sessionId, [step], { key, epoch });
    if (stored.lastSeq > lastSeq) return;
  } catch (error) {
    const isDone = error instanceof RepriseError && error.code === 'KEY_REUSED';
    if (!isDone) throw error;
  }
  // A first try has done it, from where the conversation stood then. By the history as it is now this is another step.
  if (await wasLeft(store, item)) await store.append(sessionId, [step], { key: `${key}:${lastSeq}`, epoch });
}

function stepKey(inboxId: string): string {
  return `${inboxId}:place`;
}

/** Somebody has gone elsewhere since a try of this message went to its place, and its words are not stored. */
async function wasLeft(store: Store, { inboxId, sessionId }: InboxItem): Promise<boolean> {
  let isElsewhere = false;
  for await (const { entry } of newestFirst(store, sessionId)) {
    const { seal } = entry as Entry;
    if (seal?.k === inboxId) return false;
    if (seal?.k?.startsWith(stepKey(inboxId)) === true) return isElsewhere;
    isElsewhere ||= customData(entry as Entry, 'reprise.leaf') !== undefined;
  }
  return isElsewhere;
}
