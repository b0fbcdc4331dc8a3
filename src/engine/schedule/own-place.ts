import { RepriseError } from '../../errors.ts';
import type { InboxItem } from '../../store/port/inbox.ts';
import type { NewEntry, SessionRecord, Store } from '../../store/port/store.ts';
import { customData, type Entry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { newestFirst } from '../history/read-history.ts';
import { isRunning, isWaiting } from './queue.ts';

/**
 * Runs the queued messages before the next one that is accepted. They were sent to the present conversation, so nothing
 * is undone until they have had their turn.
 */
export async function isSpokenFor(store: Store, sessionId: string): Promise<boolean> {
  const rows = await store.inbox.pending(sessionId);
  return rows.some((item) => isWaiting(item) || isRunning(item));
}

/** Part of the body of a message that is answered at another point of the tree, when its turn has come. */
export function placeOf({ parentId, data }: NewEntry): JsonObject {
  const { undoes: _left, ...rest } = isObject(data) ? data : {};
  return { parentId: (parentId ?? null) as string | null, data: rest };
}

/**
 * Moves the leaf to the branch point of a message, at the start of its turn; once, however often that is retried, unless
 * another step has left it again before the message was stored.
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

/** Another step has moved the leaf since an earlier attempt of this message, and its text is not stored. */
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
