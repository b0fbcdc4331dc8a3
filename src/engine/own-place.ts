import { RepriseError } from '../errors.ts';
import type { InboxItem, NewEntry, SessionRecord, Store } from '../store/store.ts';
import { isObject, type JsonObject } from '../transcript/json.ts';
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

/** Goes to the place of a message that has one, at the beginning of its turn; once, however often that is tried. */
export async function goToPlace(
  store: Store,
  { inboxId, sessionId, body }: InboxItem,
  { leaf }: Pick<SessionRecord, 'leaf'>,
  epoch: number,
): Promise<void> {
  const { place } = body;
  if (!isObject(place)) return;
  const { parentId, data } = place as { parentId: string | null; data: JsonObject };
  const undoes = leaf === null ? {} : { undoes: leaf };
  const step = { type: 'custom', customType: 'reprise.leaf', parentId, data: { ...undoes, ...data } };
  try {
    await store.append(sessionId, [step], { key: `${inboxId}:place`, epoch });
  } catch (error) {
    // A first try has done it, from where the conversation stood then.
    const isDone = error instanceof RepriseError && error.code === 'KEY_REUSED';
    if (!isDone) throw error;
  }
}
