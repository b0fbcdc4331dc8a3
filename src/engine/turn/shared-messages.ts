import type { Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';
import type { ProjectedMessage } from '../../transcript/render/conversation.ts';

/** By the first entry of a request: cached as long as the history is in use. */
const told = new WeakMap<Entry, readonly ProjectedMessage[]>();

/**
 * A request starts with the messages of the one before it (I-8). As far as it does it gets the same objects, so that
 * their tokens and hash need not be computed again with every turn. They are frozen: a model that receives a request
 * cannot change the next one.
 */
export function sharedMessages(
  first: Entry | undefined,
  messages: readonly ProjectedMessage[],
): readonly ProjectedMessage[] {
  if (first === undefined) return messages;
  const before = told.get(first) ?? [];
  const shared = messages.map((message, i) => {
    const known = before[i];
    return known !== undefined && isSame(known, message) ? known : frozen(message);
  });
  told.set(first, shared);
  return [...shared];
}

/** By what they say. Texts are those of the same stored entries, so they are compared by their place in memory. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((value, i) => isSame(value, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => isSame(a[name], b[name]));
}

/** The values of a call are as deep as a line may be, and no deeper. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}
