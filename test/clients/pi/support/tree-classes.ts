import type { Entry } from '../../../../src/index.ts';
import type { Tree } from './trees.ts';

/** What a run must have met often enough to prove anything. */
export const TREE_CLASSES = [
  'branches',
  'compaction',
  'kept range',
  'older compaction in the kept range',
  'first kept off path',
  'blank summary',
  'branch summary',
  'setting',
  'label leaf',
  'reprise.leaf leaf',
  'other side leaf',
  'path through a side entry',
  'several roots',
  'sealed',
  'sealed with foreign lines',
  'plain',
  'long path',
] as const;
export type TreeClass = (typeof TREE_CLASSES)[number];

/** Found by looking at the tree, not by trusting the generator. All but the roots are about the last line's path. */
export function classesOf({ entries, sealed, foreignLines }: Tree): TreeClass[] {
  const path = pathOfLastLine(entries);
  const found: TreeClass[] = [sealed ? (foreignLines > 0 ? 'sealed with foreign lines' : 'sealed') : 'plain'];
  const parents = entries.map(({ parentId }) => parentId).filter((id) => id !== null);
  if (new Set(parents).size < parents.length) found.push('branches');
  if (entries.length - parents.length > 1) found.push('several roots');
  if (path.length >= 10) found.push('long path');
  const types = new Set(path.map(({ type }) => type));
  if (types.has('branch_summary')) found.push('branch summary');
  if (types.has('model_change') || types.has('thinking_level_change')) found.push('setting');
  if (path.slice(0, -1).some((entry) => isSide(entry))) found.push('path through a side entry');
  return [...found, ...compactionClasses(path), ...leafClasses(entries)];
}

function pathOfLastLine(entries: readonly Entry[]): Entry[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path: Entry[] = [];
  for (let at = entries.at(-1); at !== undefined; at = byId.get(at.parentId ?? '')) path.unshift(at);
  return path;
}

function compactionClasses(path: readonly Entry[]): TreeClass[] {
  const at = path.findLastIndex(({ type }) => type === 'compaction');
  const compaction = path[at];
  if (compaction === undefined) return [];
  const found: TreeClass[] = ['compaction'];
  if (compaction['summary'] === '') found.push('blank summary');
  const before = path.slice(0, at);
  const first = before.findIndex(({ id }) => id === compaction['firstKeptEntryId']);
  if (first === -1) return [...found, 'first kept off path'];
  found.push('kept range');
  if (before.slice(first).some(({ type }) => type === 'compaction')) {
    found.push('older compaction in the kept range');
  }
  return found;
}

/** Only where the last line hangs elsewhere than at the line before it, so that the leaf really moved. */
function leafClasses(entries: readonly Entry[]): TreeClass[] {
  const last = entries.at(-1);
  if (last === undefined || !isSide(last) || last.parentId === entries.at(-2)?.id) return [];
  if (last.type === 'label') return ['label leaf'];
  return [last['customType'] === 'reprise.leaf' ? 'reprise.leaf leaf' : 'other side leaf'];
}

function isSide({ type, customType }: Entry): boolean {
  if (type === 'custom') return String(customType).startsWith('reprise.');
  return type === 'label' || type === 'session_info' || type === 'usage';
}
