import { z } from 'zod';
import { contentText } from '../transcript/content.ts';
import { type Entry, entryTime, isSideEntry } from '../transcript/entry.ts';
import { isObject } from '../transcript/json.ts';
import { buildTree, pathTo } from '../transcript/tree.ts';
import { limitShape, type Page, pageShape } from './page.ts';

/** One entry and its parent. */
export interface TreeNode {
  readonly id: string;
  readonly parentId: string | null;
  readonly role: string;
  readonly text: string;
  readonly timestamp: string;
  /** It is on the current branch. */
  readonly current: boolean;
}

const nodeSchema = z.object({
  id: z.string(),
  parentId: z.string().nullable(),
  role: z.string(),
  text: z.string(),
  timestamp: z.string(),
  current: z.boolean(),
});

export interface TreePage extends Page<TreeNode> {
  readonly leaf: string | null;
}

export const treeSchema: z.ZodType<TreePage> = z.object({
  ...pageShape(nodeSchema),
  leaf: z.string().nullable(),
});

export interface TreeQuery {
  readonly limit: number;
}

export const treeQuery: z.ZodType<TreeQuery> = z.strictObject(limitShape(1000, 10_000));

const SHOWN_CHARS = 200;

/** All branches, oldest first, with missing parents inferred as in every reader of a transcript. */
export function treeNodes(entries: readonly Entry[]): { nodes: TreeNode[]; leaf: string | null } {
  const tree = buildTree(entries);
  const current = new Set(pathTo(tree, tree.leaf));
  const nodes = entries.flatMap((entry, at): TreeNode[] => {
    if (isSideEntry(entry)) return [];
    const { id, type, message, summary } = entry;
    const said = isObject(message) ? message : undefined;
    const text = said === undefined ? String(summary ?? '') : contentText(said['content']);
    return [
      {
        id,
        parentId: entries[tree.parents[at] ?? -1]?.id ?? null,
        role: said === undefined ? type : String(said['role']),
        text: [...text.slice(0, SHOWN_CHARS * 2)].slice(0, SHOWN_CHARS).join(''),
        timestamp: entryTime(entry),
        current: current.has(at),
      },
    ];
  });
  return { nodes, leaf: entries[tree.leaf]?.id ?? null };
}
