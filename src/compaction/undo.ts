import type { Entry } from '../transcript/entry.ts';
import { isObject, type JsonObject } from '../transcript/json.ts';

/** The active compactions on a path, the newest last, and those that could be redone. */
export interface CompactionStack {
  readonly inForce: readonly Entry[];
  /**
   * Compactions that were undone and not redone, in the order of their undoing; a new compaction or a redo changes
   * the list.
   */
  readonly undone: readonly Entry[];
}

/** An entry that restores an earlier state: nothing is removed, so other readers see the same (P3). */
export interface Compensation {
  readonly summary: string;
  readonly firstKeptEntryId: string;
  readonly tokensAfter?: number;
  readonly details: JsonObject;
}

export function compactionStack(path: readonly Entry[]): CompactionStack {
  const inForce: Entry[] = [];
  const undone: Entry[] = [];
  for (const entry of path) {
    if (entry.type !== 'compaction') continue;
    const { undoes, redoes } = isObject(entry['details']) ? entry['details'] : {};
    if (typeof undoes === 'string') {
      const at = inForce.findIndex(({ id }) => id === undoes);
      if (at !== -1) undone.push(...inForce.splice(at));
    } else if (typeof redoes === 'string') {
      const at = undone.findIndex(({ id }) => id === redoes);
      if (at !== -1) inForce.push(...undone.splice(at, 1));
    } else {
      inForce.push(entry);
      undone.length = 0;
    }
  }
  return { inForce, undone };
}

/** @returns `undefined` if no compaction is active. */
export function undoCompaction(path: readonly Entry[]): Compensation | undefined {
  const { inForce } = compactionStack(path);
  const last = inForce.at(-1);
  const first = path.find(({ type }) => type !== 'compaction');
  if (last === undefined || first === undefined) return undefined;
  const before = inForce.at(-2);
  return {
    summary: before === undefined ? '' : summaryOf(before),
    firstKeptEntryId: before === undefined ? first.id : String(before['firstKeptEntryId']),
    ...sizeAfter(last['tokensBefore']),
    details: { reason: 'undo', undoes: last.id },
  };
}

/** @returns `undefined` if nothing was undone since the last compaction. */
export function redoCompaction(path: readonly Entry[]): Compensation | undefined {
  const last = compactionStack(path).undone.at(-1);
  if (last === undefined) return undefined;
  return {
    summary: summaryOf(last),
    firstKeptEntryId: String(last['firstKeptEntryId']),
    ...sizeAfter(last['tokensAfter']),
    details: { reason: 'redo', redoes: last.id },
  };
}

/**
 * Whether a compaction planned at `snapshotLeaf` may be appended now: that leaf is still on the path, and nothing
 * since has compacted or edited what it covers. Entries appended meanwhile stay after the kept part.
 */
export function mayCommit(
  path: readonly Entry[],
  { snapshotLeaf, covered }: { readonly snapshotLeaf: string; readonly covered: readonly Entry[] },
): boolean {
  const at = path.findIndex(({ id }) => id === snapshotLeaf);
  if (at === -1) return false;
  const ids = new Set(covered.map(({ id }) => id));
  return path.slice(at + 1).every(({ type, targetId }) => {
    if (type === 'compaction') return false;
    return type !== 'context_edit' || typeof targetId !== 'string' || !ids.has(targetId);
  });
}

/** No message came between a step and its reverse, so the context has its previous size. */
function sizeAfter(tokens: unknown): { readonly tokensAfter?: number } {
  return typeof tokens === 'number' ? { tokensAfter: tokens } : {};
}

function summaryOf(entry: Entry): string {
  return typeof entry['summary'] === 'string' ? entry['summary'] : '';
}
