import { failure } from '../messages/failure.ts';
import type { Entry } from './entry.ts';
import { isObject } from './json.ts';
import { buildTree, pathTo, ROOT } from './tree.ts';

/**
 * Users name a message by its position: `#3` is the third user or assistant message of the current branch, counted
 * from its start, including compacted ones. Ids repeat between sessions and change in a fork; a position does
 * neither. An entry's position never changes, because a history is only appended to.
 */
export interface MessagePositions {
  /** Number of messages on the current branch. */
  readonly count: number;
  /** @returns `undefined` for an entry that is not a message, or is on another branch. */
  of(entryId: string): number | undefined;
  /** @returns the id of the entry at a position, or `undefined` if no message has that position. */
  idAt(position: number): string | undefined;
}

export function messagePositions(entries: readonly Entry[], leaf?: string): MessagePositions {
  const tree = buildTree(entries);
  const path = pathTo(tree, leaf === undefined ? tree.leaf : (tree.find(leaf) ?? ROOT));
  return positionsOf(messageIds(path.flatMap((at) => entries[at] ?? [])));
}

/** Positions for the ids of all messages of a branch, oldest first. */
export function positionsOf(ids: readonly string[]): MessagePositions {
  const positions = new Map(ids.map((id, at) => [id, at + 1]));
  return {
    count: ids.length,
    of: (entryId) => positions.get(entryId),
    idAt: (position) => ids[position - 1],
  };
}

/** The ids of a branch's entries that have a position. */
export function messageIds(path: readonly Entry[]): string[] {
  return path.filter(isMessage).map(({ id }) => id);
}

/** Counts like sessions do: tool results belong to the answer that requested them. */
function isMessage({ type, message }: Entry): boolean {
  return (
    type === 'message' && isObject(message) && (message['role'] === 'user' || message['role'] === 'assistant')
  );
}

/** @returns 3 for `#3`, `undefined` for anything else. */
export function parsePosition(text: string): number | undefined {
  const [, digits] = /^#([1-9]\d{0,8})$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** The name of a message for users: its position, or its id if it is on another branch. */
export function messageName(positions: MessagePositions, entryId: string): string {
  const position = positions.of(entryId);
  return position === undefined ? `[${entryId}]` : `#${position}`;
}

/**
 * The message at a position of the current branch, or of the branch that ends at `leaf`. Throws NOT_FOUND if there
 * are fewer messages.
 */
export function entryAt(entries: readonly Entry[], position: number, leaf?: string): Entry {
  const positions = messagePositions(entries, leaf);
  const id = positions.idAt(position);
  const entry = entries.find((one) => one.id === id);
  if (entry !== undefined) return entry;
  throw failure('NOT_FOUND', 'message.missing', { position, messages: positions.count });
}
