import { pinsInForce } from '../../compaction/pins.ts';
import { startsTurn } from '../../compaction/safe-cut.ts';
import { compactionStack, redoCompaction, undoCompaction } from '../../compaction/undo.ts';
import { tokensAtEntry } from '../../context/session-tokens.ts';
import { failure } from '../../messages/failure.ts';
import type { NewEntry } from '../../store/port/store.ts';
import { customData, type Entry, isSideEntry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { buildTree, type EntryTree, pathEntries, ROOT } from '../../transcript/tree.ts';

/** One step back or forth, as the entry that makes it. Nothing is removed: the step itself is history (P3). */
export interface EntryStep {
  readonly kind: 'turn' | 'compaction';
  readonly entry: NewEntry;
}

/** A reset is undone by giving the key back to the session before, and redone by giving it to the new one again. */
export interface ResetStep {
  readonly kind: 'reset';
  readonly sessionId: string;
}

export type Step = EntryStep | ResetStep;

/**
 * The last turn or the last compaction in force, whichever came later. Where there is neither it is the reset that made
 * the session; `parentId` is the session before.
 */
export function undoStep(all: readonly Entry[], parentId?: string): Step | undefined {
  const step = undoEntryStep(all);
  if (step !== undefined || parentId === undefined || !wasReset(all)) return step;
  return { kind: 'reset', sessionId: parentId };
}

/** A session made by a reset knows why; one that was forked or made under the same name has nobody to go back to. */
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

/** Continues right before an entry of the path. */
export function leafBefore(all: readonly Entry[], path: readonly Entry[], at: number): NewEntry {
  return leafMove(all, path[at]?.parentId ?? null, { undoes: path.at(-1)?.id });
}

function leafMove(all: readonly Entry[], parentId: string | null, data: JsonObject): NewEntry {
  const tokenEstimate = tokensAtEntry(all, parentId);
  return { type: 'custom', customType: 'reprise.leaf', parentId, data: { ...data, tokenEstimate } };
}

/** Where to go on: behind an entry, before it, or where the branch it begins was left last. */
export type BranchPlace = 'behind' | 'before' | 'end';

/** To another place of the tree; undefined: the conversation stands there already. */
export function branchStep(
  all: readonly Entry[],
  entryId: string,
  place: BranchPlace = 'behind',
): EntryStep | undefined {
  const { entry, isHere } = branchMove(all, entryId, place);
  return isHere ? undefined : { kind: 'turn', entry };
}

/** The entry that goes to a place of the tree, also where the conversation stands there now and may not later. */
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
  const left = all[tree.leaf]?.id;
  const data = { ...(left !== undefined && { undoes: left }), branch: true };
  const entry = leafMove(all, all[to]?.id ?? null, data);
  return { entry, isHere: to === tree.leaf };
}

/** Where the conversation stood when it was last on the branch that begins at a position. */
function lastStoodBelow({ entries, parents }: EntryTree, top: number): number {
  const below = new Uint8Array(entries.length);
  below[top] = 1;
  let last = top;
  for (let i = top + 1; i < entries.length; i++) {
    const parent = parents[i] ?? ROOT;
    if (parent < 0 || below[parent] !== 1) continue;
    const entry = entries[i];
    // A side entry stands beside the conversation: the leaf is what it hangs on.
    if (entry !== undefined && isSideEntry(entry)) last = parent;
    else {
      below[i] = 1;
      last = i;
    }
  }
  return last;
}

/** Takes back the last step that was not taken back yet, as long as nothing was said since. */
export function redoStep(all: readonly Entry[]): Step | undefined {
  const redone = new Set<string>();
  let isLastActivation = true;
  for (const [i, entry] of [...all.entries()].reverse()) {
    const { type, details, id } = entry;
    const activated = activation(entry);
    const moved = customData(entry, 'reprise.leaf');
    if (activated !== undefined) {
      // One that was redone stands where it stood, also towards a reset of its own.
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

/** The session that took the place of this one last. */
export function resetTo(all: readonly Entry[]): string | undefined {
  const resets = all.map((entry) => customData(entry, 'reprise.reset'));
  const next = resets.findLast((data) => data !== undefined)?.['next'];
  return typeof next === 'string' ? next : undefined;
}

/** A note that came with a message belongs to the same turn: undoing takes both. */
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
