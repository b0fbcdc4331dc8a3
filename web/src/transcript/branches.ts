import type { TreeNode } from 'reprise/client';

/** A part of the tree without forks, shown as one line. */
export interface Branch {
  readonly depth: number;
  /** The entry to continue from on this branch. */
  readonly leaf: string;
  readonly first: TreeNode;
  readonly count: number;
  readonly isCurrent: boolean;
}

/**
 * The parts of the tree in creation order, indented below their parent. Without recursion, because trees can be deep.
 */
export function branches(nodes: readonly TreeNode[]): readonly Branch[] {
  const known = new Set(nodes.map(({ id }) => id));
  const children = new Map<string | null, TreeNode[]>();
  for (const node of nodes) {
    const parent = node.parentId !== null && known.has(node.parentId) ? node.parentId : null;
    children.set(parent, [...(children.get(parent) ?? []), node]);
  }
  const found: Branch[] = [];
  const waiting = (children.get(null) ?? []).map((first) => ({ first, depth: 0 })).reverse();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { first, depth } = next;
    let last = first;
    let count = 1;
    let below = children.get(last.id) ?? [];
    while (below.length === 1 && below[0] !== undefined) {
      last = below[0];
      count++;
      below = children.get(last.id) ?? [];
    }
    found.push({ depth, leaf: newestLeaf(last, children), first, count, isCurrent: last.current });
    for (const child of [...below].reverse()) waiting.push({ first: child, depth: depth + 1 });
  }
  return found;
}

function newestLeaf(from: TreeNode, children: ReadonlyMap<string | null, readonly TreeNode[]>): string {
  let leaf = from;
  for (let below = children.get(leaf.id); below !== undefined; below = children.get(leaf.id))
    leaf = below.find(({ current }) => current) ?? below.at(-1) ?? leaf;
  return leaf.id;
}
