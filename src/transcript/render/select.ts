import { failure } from '../../messages/failure.ts';
import type { Entry } from '../entry.ts';
import type { IssueLog } from '../issues.ts';
import { isObject, type JsonObject } from '../json.ts';
import { patchSettings, settingsIn } from '../settings.ts';
import { buildTree, type EntryTree, pathTo, ROOT } from '../tree.ts';

/** The part of a transcript that is context, decided before any rule about providers applies. */
export interface Selection {
  /** The last compaction on the path; its summary replaces everything before `entries`. */
  readonly compaction: Entry | undefined;
  /** Entries that may contribute, oldest first. */
  readonly entries: readonly Entry[];
  /** Set if older turns are not among `entries`, because only the newest are sent. */
  readonly isLimited?: true;
  /** Content that replaces an entry's own; null hides the entry. */
  readonly edits: ReadonlyMap<Entry, unknown>;
  readonly model: { readonly provider: string; readonly modelId: string } | undefined;
  readonly thinkingLevel: string | undefined;
  /**
   * The session's chosen settings and the statistics of its last turn: all patches in file order, null removes a
   * name.
   */
  readonly settings: JsonObject;
}

export interface SelectOptions {
  /** Id of the entry to use as leaf; null is before the first entry. Unset: the transcript's own leaf. */
  readonly leaf?: string | null | undefined;
  readonly issues?: IssueLog | undefined;
}

export function selectContext(all: readonly Entry[], { leaf, issues }: SelectOptions = {}): Selection {
  const tree = buildTree(all, issues);
  const path = pathTo(tree, leafPosition(tree, leaf));
  let model: Selection['model'];
  let thinkingLevel: string | undefined;
  let compactionAt = -1;
  for (const [step, position] of path.entries()) {
    const entry = all[position];
    if (entry === undefined) continue;
    switch (entry.type) {
      case 'compaction':
        compactionAt = step;
        break;
      case 'model_change':
        model = modelOf(entry['provider'], entry['modelId']) ?? model;
        break;
      case 'message':
        model = assistantModel(entry['message']) ?? model;
        break;
      case 'thinking_level_change':
        if (typeof entry['thinkingLevel'] === 'string') thinkingLevel = entry['thinkingLevel'];
    }
  }
  const compaction = all[path[compactionAt] ?? ROOT];
  const kept = compaction === undefined ? path : keptPath(tree, path, compactionAt, issues);
  const entries: Entry[] = [];
  const edits = new Map<Entry, unknown>();
  for (const position of kept) {
    const entry = all[position];
    if (entry === undefined) continue;
    if (entry.type === 'context_edit') addEdit(edits, tree, position, entry);
    else entries.push(entry);
  }
  return { compaction, entries, edits, model, thinkingLevel, settings: settingsOf(all) };
}

function leafPosition(tree: EntryTree, leaf: string | null | undefined): number {
  if (leaf === undefined) return tree.leaf;
  if (leaf === null) return ROOT;
  const position = tree.find(leaf);
  if (position === undefined) {
    throw failure('NOT_FOUND', 'entry.missing', { entry: leaf }, { details: { entry: leaf } });
  }
  return position;
}

/** From the first kept entry up to the compaction, then everything after it. */
function keptPath(tree: EntryTree, path: readonly number[], at: number, issues?: IssueLog): number[] {
  const after = path.slice(at + 1);
  const compaction = tree.entries[path[at] ?? ROOT];
  const name = compaction?.['firstKeptEntryId'];
  if (typeof name !== 'string') return after;
  for (let step = 0; step < at; step++) {
    if (tree.entries[path[step] ?? ROOT]?.id === name) return [...path.slice(step, at), ...after];
  }
  // A compaction that keeps nothing names itself; any other name should be on the path.
  if (name !== compaction?.id) {
    issues?.add({
      kind: 'missing-first-kept',
      detail: `${compaction?.id} keeps from ${name}, which is not before it`,
    });
  }
  return after;
}

function addEdit(edits: Map<Entry, unknown>, tree: EntryTree, from: number, edit: Entry): void {
  const { targetId, replacement } = edit;
  const target = typeof targetId === 'string' ? tree.entries[tree.find(targetId, from) ?? ROOT] : undefined;
  if (target === undefined) return;
  if (replacement === null) edits.set(target, null);
  else if (isObject(replacement) && replacement['content'] !== undefined)
    edits.set(target, replacement['content']);
}

function assistantModel(message: unknown): Selection['model'] {
  if (!isObject(message) || message['role'] !== 'assistant') return undefined;
  return modelOf(message['provider'], message['model']);
}

function modelOf(provider: unknown, modelId: unknown): Selection['model'] {
  return typeof provider === 'string' && typeof modelId === 'string' ? { provider, modelId } : undefined;
}

function settingsOf(all: readonly Entry[]): JsonObject {
  const settings = new Map<string, unknown>();
  for (const entry of all) {
    const patch = settingsIn(entry);
    if (patch !== undefined) patchSettings(settings, patch);
  }
  return Object.fromEntries(settings);
}
