import { failure } from '../messages/failure.ts';
import { type Entry, isSideEntry } from './entry.ts';
import type { IssueLog } from './issues.ts';

/**
 * The tree of a transcript, by position in the list of entries: an id may be missing, repeated or wrong, a position
 * cannot. Every walk up the parents ends (I-5), whatever the file contains.
 */
export interface EntryTree {
  readonly entries: readonly Entry[];
  /** Position of the parent; `ROOT` means no parent, `DROPPED` marks a verbatim copy of an earlier entry. */
  readonly parents: Int32Array;
  /** Position of the leaf, or `ROOT` if the conversation is before its first entry. */
  readonly leaf: number;
  /**
   * The entry that an id means when entry `from` uses it: the nearest before `from`, otherwise the first in the file.
   */
  find(id: string, from?: number): number | undefined;
}

export const ROOT = -1;
const DROPPED = -2;
/** A parent that must still be found: it is missing, or was cut out of a cycle. */
const ORPHAN = -3;

export function buildTree(entries: readonly Entry[], issues?: IssueLog): EntryTree {
  const parents = new Int32Array(entries.length);
  const { find, copies } = indexById(entries, issues);
  for (const copy of copies) parents[copy] = DROPPED;
  for (const [i, { id, parentId }] of entries.entries()) {
    if (parents[i] === DROPPED) continue;
    if (parentId === null) parents[i] = ROOT;
    else {
      const parent = find(parentId, i);
      parents[i] = parent ?? ORPHAN;
      if (parent === undefined) {
        issues?.add({ kind: 'missing-parent', detail: `${id} hangs under ${parentId}, which is not here` });
      }
    }
  }
  cutCycles(parents, (i) => issues?.add({ kind: 'cycle', detail: `${entries[i]?.id} is its own ancestor` }));
  attachOrphans(parents);
  return { entries, parents, leaf: lastLeaf(entries, parents), find };
}

/** Positions from the root to `leaf`. */
export function pathTo({ parents }: EntryTree, leaf: number): number[] {
  const path: number[] = [];
  for (let i = leaf; i >= 0; i = parents[i] ?? ROOT) path.push(i);
  return path.reverse();
}

/** The entries from the root to an entry; unset: to the transcript's own leaf. */
export function pathEntries(entries: readonly Entry[], leaf?: string): Entry[] {
  const tree = buildTree(entries);
  const end = leaf === undefined ? tree.leaf : tree.find(leaf);
  if (end === undefined)
    throw failure('NOT_FOUND', 'entry.missing', { entry: String(leaf) }, { details: { entry: leaf } });
  return pathTo(tree, end).flatMap((position) => entries[position] ?? []);
}

interface IdIndex {
  readonly find: EntryTree['find'];
  /** Positions that repeat an earlier entry verbatim, as a doubled write or a pasted copy does. */
  readonly copies: readonly number[];
}

function indexById(entries: readonly Entry[], issues: IssueLog | undefined): IdIndex {
  const first = new Map<string, number>();
  /** Only for ids shared by different entries: all their positions, ascending, and their contents. */
  const shared = new Map<string, { readonly at: number[]; readonly bodies: Set<string> }>();
  const copies: number[] = [];
  for (const [i, entry] of entries.entries()) {
    const { id } = entry;
    const known = first.get(id);
    if (known === undefined) {
      first.set(id, i);
      continue;
    }
    const twins = shared.get(id) ?? { at: [known], bodies: new Set([JSON.stringify(entries[known])]) };
    shared.set(id, twins);
    const body = JSON.stringify(entry);
    const copy = twins.bodies.has(body);
    issues?.add({
      kind: 'duplicate-id',
      detail: copy ? `${id} stands here twice` : `two entries are called ${id}`,
    });
    if (copy) copies.push(i);
    else {
      twins.at.push(i);
      twins.bodies.add(body);
    }
  }
  const find = (id: string, from: number = entries.length): number | undefined => {
    const twins = shared.get(id);
    return twins === undefined ? first.get(id) : lastBefore(twins.at, from);
  };
  return { find, copies };
}

/** The last of ascending positions before `from`, otherwise the first one. */
function lastBefore(positions: readonly number[], from: number): number | undefined {
  let low = 0;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((positions[middle] ?? 0) < from) low = middle + 1;
    else high = middle;
  }
  return positions[Math.max(0, low - 1)];
}

function cutCycles(parents: Int32Array, onCycle: (position: number) => void): void {
  // walk[i] is the walk that passed position i. Meeting the current walk's mark means a cycle.
  const walk = new Int32Array(parents.length);
  for (let start = 0; start < parents.length; start++) {
    let i = start;
    while (i >= 0 && walk[i] === 0) {
      walk[i] = start + 1;
      i = parents[i] ?? ROOT;
    }
    if (i < 0 || walk[i] !== start + 1) continue;
    // `i` is on a cycle that this walk closed; the cycle is cut at its first entry in the file.
    let first = i;
    for (let j = parents[i] ?? ROOT; j !== i && j >= 0; j = parents[j] ?? ROOT) first = Math.min(first, j);
    parents[first] = ORPHAN;
    onCycle(first);
  }
}

/**
 * The parent of an island without a root is its predecessor in the file. If that predecessor is below the island
 * itself (a file out of order), the island stays a root: a second cycle would be worse.
 */
function attachOrphans(parents: Int32Array): void {
  if (!parents.includes(ORPHAN)) return;
  const tops = topsOf(parents);
  let previous = ROOT;
  for (let i = 0; i < parents.length; i++) {
    if (parents[i] === DROPPED) continue;
    if (parents[i] === ORPHAN) {
      const attach = previous !== ROOT && topOf(tops, previous) !== i;
      parents[i] = attach ? previous : ROOT;
      if (attach) tops[i] = topOf(tops, previous);
    }
    previous = i;
  }
}

/** For each position, the top of its island. */
function topsOf(parents: Int32Array): Int32Array {
  const tops = Int32Array.from(parents, (parent, i) => (parent >= 0 ? parent : i));
  for (let i = 0; i < tops.length; i++) topOf(tops, i);
  return tops;
}

function topOf(tops: Int32Array, start: number): number {
  let top = start;
  for (let next = tops[top] ?? top; next !== top; next = tops[top] ?? top) top = next;
  // Path compression, so that all lookups together stay linear.
  for (let i = start; i !== top; ) {
    const next = tops[i] ?? top;
    tops[i] = top;
    i = next;
  }
  return top;
}

/**
 * A chain entry becomes the leaf. A side entry is attached to the leaf, so the leaf is its parent: in our own files
 * that changes nothing or is a `reprise.leaf` move; for a tool whose labels become leaves, it gives the branch that
 * the tool would show.
 */
function lastLeaf(entries: readonly Entry[], parents: Int32Array): number {
  for (let i = entries.length - 1; i >= 0; i--) {
    if (parents[i] === DROPPED) continue;
    let leaf = i;
    for (let entry = entries[leaf]; entry !== undefined && isSideEntry(entry); entry = entries[leaf]) {
      leaf = parents[leaf] ?? ROOT;
    }
    return leaf;
  }
  return ROOT;
}
