import { loadBlobs } from '../../store/copy/load-blobs.ts';
import type { Store } from '../../store/port/store.ts';
import { hydrateBlobs } from '../../transcript/blobs.ts';
import { type Entry, entryTime, type Message } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import { pathEntries } from '../../transcript/tree.ts';
import { readHistory } from './read-history.ts';

/** A message of the current branch, with the id and the time of its entry. */
export type SessionMessage = Message & { readonly entryId: string; readonly at: string };

const ROLES: ReadonlySet<unknown> = new Set(['user', 'assistant', 'toolResult', 'bashExecution', 'system']);

/** The messages of the current branch, oldest first, compacted ones included. */
export async function sessionMessages(store: Store, sessionId: string): Promise<SessionMessage[]> {
  const path = pathEntries(await readHistory(store, sessionId)).filter(isMessage);
  const whole = hydrateBlobs(path, await loadBlobs(store, sessionId, path));
  return whole.map((entry) => ({
    ...(entry['message'] as Message),
    entryId: entry.id,
    at: entryTime(entry),
  }));
}

/** Files of other tools may contain messages in other forms. */
function isMessage({ type, message }: Entry): boolean {
  return type === 'message' && isObject(message) && ROLES.has(message['role']);
}
