import { pinsInForce } from '../../compaction/pins.ts';
import { startsTurn } from '../../compaction/safe-cut.ts';
import { compactionStack, redoCompaction, undoCompaction } from '../../compaction/undo.ts';
import { tokensAtEntry } from '../../context/session-tokens.ts';
import { failure } from '../../messages/failure.ts';
import type { NewEntry } from '../../store/port/store.ts';
import { customData, type Entry, isSideEntry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { buildTree, type EntryTree, pathEntries, ROOT } from '../../transcript/tree.ts';

/** A step as the entry that makes it. Nothing is removed: the step itself is part of the history (P3). */
export interface EntryStep {
  readonly kind: 'turn' | 'compaction';
  readonly entry: NewEntry;
}

/** Undoing a reset gives the key back to the previous session; redoing it gives the key to the new one again. */
export interface ResetStep {
  readonly kind: 'reset';
  readonly sessionId: string;
}

export type Step = EntryStep | ResetStep;

/**
 * The step to undo: the last turn or the last active compaction, whichever came later. Without either, it is the
 * reset that created the session; `parentId` is the previous session.
 */
export function undoStep(all: readonly Entry[], parentId?: string): Step | undefined {
  const step = undoEntryStep(all);
  if (step !== undefined || parentId === undefined || !wasReset(all)) return step;
  return { kind: 'reset', sessionId: parentId };
}

/**
 * Whether a reset created this session. A fork, or a new session under the same key, has no previous session to
 * return to.
 */
export function wasReset(all: readonly Entry[]): boolean {
  const first = all.find((entry) => activation(entry) !== undefined && activation(entry)?.['counter'] !== 0);
  return first !== undefined && typeof activation(first)?.['reason'] === 'string';
}

function activation(entry: Entry): JsonObject | undefined {
  return customData(entry, 'reprise.activate');
}

function undoEntryStep(all: readonly Entry[]): EntryStep | undefined {
  const path = pathEntries(all);
  const lastTurn = path.findLastIndex(startsTurnHere(path));
  const { inForce } = compactionStack(path);
  const newest = inForce.at(-1);
  const lastCompaction = newest === undefined ? -1 : path.lastIndexOf(newest);
  if (lastTurn === -1 && lastCompaction === -1) return undefined;
  if (lastCompaction > lastTurn) {
    const undone = undoCompaction(path);
    return undone === undefined ? undefined : { kind: 'compaction', entry: compensate(undone, all) };
  }
  return { kind: 'turn', entry: leafBefore(all, path, lastTurn) };
}

/** An entry that moves the leaf right before an entry of the path. */
export function leafBefore(all: readonly Entry[], path: readonly Entry[], at: number): NewEntry {
  return leafMove(all, path[at]?.parentId ?? null, { undoes: path.at(-1)?.id });
}

/** A move to an entry, or before the first one: what follows becomes a branch. */
export function moveTo(all: readonly Entry[], parentId: string | null): NewEntry {
  return leafMove(all, parentId, { ...leftBehind(all), branch: true });
}

function leftBehind(all: readonly Entry[]): { readonly undoes?: string } {
  const left = all[buildTree(all).leaf]?.id;
  return left === undefined ? {} : { undoes: left };
}

function leafMove(all: readonly Entry[], parentId: string | null, data: JsonObject): NewEntry {
  const tokenEstimate = tokensAtEntry(all, parentId);
  return { type: 'custom', customType: 'reprise.leaf', parentId, data: { ...data, tokenEstimate } };
}

/** Where to continue: after an entry, before it, or at the end of the branch that it begins. */
export type BranchPlace = 'behind' | 'before' | 'end';

/** A move to another point of the tree. @returns `undefined` if the conversation is already there. */
export function branchStep(
  all: readonly Entry[],
  entryId: string,
  place: BranchPlace = 'behind',
): EntryStep | undefined {
  const { entry, isHere } = branchMove(all, entryId, place);
  return isHere ? undefined : { kind: 'turn', entry };
}

/** The entry that moves to a point of the tree, even if the conversation is there now. */
export function branchMove(
  all: readonly Entry[],
  entryId: string,
  place: BranchPlace,
): { readonly entry: NewEntry; readonly isHere: boolean } {
  const tree = buildTree(all);
  const at = tree.find(entryId);
  const target = at === undefined ? undefined : all[at];
  if (at === undefined || target === undefined || isSideEntry(target))
    throw failure('NOT_FOUND', 'entry.missing', { entry: entryId }, { details: { entry: entryId } });
  const to =
    place === 'end' ? lastStoodBelow(tree, at) : place === 'before' ? (tree.parents[at] ?? ROOT) : at;
  return { entry: moveTo(all, all[to]?.id ?? null), isHere: to === tree.leaf };
}

/** The last leaf of the conversation on the branch that begins at a position. */
function lastStoodBelow({ entries, parents }: EntryTree, top: number): number {
  const below = new Uint8Array(entries.length);
  below[top] = 1;
  let last = top;
  for (let i = top + 1; i < entries.length; i++) {
    const parent = parents[i] ?? ROOT;
    if (parent < 0 || below[parent] !== 1) continue;
    const entry = entries[i];
    // A side entry is not part of the conversation: the leaf is its parent.
    if (entry !== undefined && isSideEntry(entry)) last = parent;
    else {
      below[i] = 1;
      last = i;
    }
  }
  return last;
}

/** Redoes the last undone step, as long as no message was added since. */
export function redoStep(all: readonly Entry[]): Step | undefined {
  const redone = new Set<string>();
  let isLastActivation = true;
  for (const [i, entry] of [...all.entries()].reverse()) {
    const { type, details, id } = entry;
    const activated = activation(entry);
    const moved = customData(entry, 'reprise.leaf');
    if (activated !== undefined) {
      // A step that was redone stays in force, also towards a reset.
      if (activated['reason'] === 'redo') continue;
      const next = isLastActivation && activated['reason'] === 'undo' ? resetTo(all.slice(0, i)) : undefined;
      if (next !== undefined) return { kind: 'reset', sessionId: next };
      isLastActivation = false;
    } else if (moved !== undefined) {
      const { undoes, redoes } = moved;
      if (typeof redoes === 'string') redone.add(redoes);
      else if (typeof undoes === 'string' && !redone.has(id)) {
        return { kind: 'turn', entry: leafMove(all, undoes, { redoes: id }) };
      }
    } else if (type === 'compaction' && isObject(details)) {
      if (typeof details['undoes'] === 'string') {
        const again = redoCompaction(pathEntries(all));
        if (again !== undefined) return { kind: 'compaction', entry: compensate(again, all) };
      } else if (typeof details['redoes'] !== 'string') return undefined;
    } else if (type !== 'custom' && type !== 'label' && type !== 'session_info') return undefined;
  }
  return undefined;
}

/** The session that last replaced this one. */
export function resetTo(all: readonly Entry[]): string | undefined {
  const resets = all.map((entry) => customData(entry, 'reprise.reset'));
  const next = resets.findLast((data) => data !== undefined)?.['next'];
  return typeof next === 'string' ? next : undefined;
}

/** A note that came with a message belongs to the same turn: undoing removes both. */
function startsTurnHere(path: readonly Entry[]): (entry: Entry, at: number) => boolean {
  return (entry, at) => {
    const before = path[at - 1];
    return startsTurn(entry) && !(before !== undefined && before.type === 'custom_message');
  };
}

function compensate(fields: object, all: readonly Entry[]): NewEntry {
  const { details, ...rest } = fields as { details: object };
  return { type: 'compaction', ...rest, details: { ...details, pins: pinsInForce(all) } };
}
