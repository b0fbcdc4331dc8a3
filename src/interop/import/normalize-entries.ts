import type { Entry } from '../../transcript/entry.ts';
import { buildTree } from '../../transcript/tree.ts';

/**
 * The same entries with unique ids, parents in front of their children, and only parents that exist. Files that were
 * cut, merged or written out of order are then compared and copied like any other.
 */
export function normalizeEntries(entries: readonly Entry[]): readonly Entry[] {
  const { parents } = buildTree(entries);
  const ids = new Set<string>();
  const idAt: string[] = [];
  const order: number[] = [];
  const isPlaced = new Uint8Array(entries.length);
  for (const [position, { id }] of entries.entries()) {
    let unique = id;
    if ((parents[position] ?? -1) >= -1) for (let n = 2; ids.has(unique); n++) unique = `${id}~${n}`;
    ids.add(unique);
    idAt.push(unique);
  }
  for (const position of entries.keys()) {
    // Verbatim copies are left out.
    if ((parents[position] ?? -1) < -1) continue;
    const missing: number[] = [];
    for (let at = position; at >= 0 && isPlaced[at] === 0; at = parents[at] ?? -1) missing.push(at);
    for (const at of missing.reverse()) {
      isPlaced[at] = 1;
      order.push(at);
    }
  }
  return order.flatMap((position) => {
    const entry = entries[position];
    if (entry === undefined) return [];
    const parent = parents[position] ?? -1;
    const id = idAt[position] ?? entry.id;
    const parentId = parent < 0 ? null : (idAt[parent] ?? null);
    return id === entry.id && parentId === entry.parentId ? [entry] : [{ ...entry, id, parentId }];
  });
}
