import { blobReferences } from '../transcript/blobs.ts';
import { customData, type Entry, isSideEntry } from '../transcript/entry.ts';
import { isObject } from '../transcript/json.ts';
import { buildTree } from '../transcript/tree.ts';
import { estimateEntryTokens, estimateImageTokens } from './estimate-message.ts';

/**
 * The tokens that lists show for a session: the size of its context. It follows from the entries in order, so that a
 * rebuilt index shows the same. An entry sets the number if its writer knew the whole context (usage that the provider
 * reported, the end of a turn, a compaction, a move to another branch); any other entry adds its estimate.
 */
export type TokenChange = { readonly set: number } | { readonly add: number };

export function tokenChange(entry: Entry): TokenChange {
  const known = contextTokens(entry);
  return known === undefined ? { add: ownTokens(entry) } : { set: known };
}

/** The number after a change. */
export function changeTokens(before: number, change: TokenChange): number {
  return 'set' in change ? change.set : before + change.add;
}

function contextTokens(entry: Entry): number | undefined {
  const { type, message, tokensAfter } = entry;
  if (type === 'compaction') return count(tokensAfter);
  if (type === 'custom') {
    const data = customData(entry, 'reprise.turn') ?? customData(entry, 'reprise.leaf');
    return count(data?.['tokenEstimate']);
  }
  const usage = type === 'message' && isObject(message) ? message['usage'] : undefined;
  // Servers that count no usage report zero or nothing.
  return isObject(usage) && usage['totalTokens'] !== 0 ? count(usage['totalTokens']) : undefined;
}

/** Without `tokensAfter` a compaction does not say what it kept, so the number stays until the next turn ends. */
function ownTokens(entry: Entry): number {
  return entry.type === 'compaction' ? 0 : estimateStoredTokens(entry);
}

const BYTES_PER_TOKEN = 4;

/** Large parts of a stored entry are in blobs; its text holds only their first lines. */
function estimateStoredTokens(entry: Entry): number {
  let tokens = estimateEntryTokens(entry);
  for (const { bytes, mimeType } of blobReferences(entry)) {
    tokens += mimeType.startsWith('image/')
      ? estimateImageTokens('', mimeType)
      : Math.ceil(bytes / BYTES_PER_TOKEN);
  }
  return tokens;
}

/** The number at each entry, by position: what lists would show if the conversation stood there. */
export function tokensAtEntries(entries: readonly Entry[]): number[] {
  const { parents, find } = buildTree(entries);
  const tokens: number[] = [];
  /** Estimates from the first entry of the path on, for the part that a compaction keeps. */
  const sums: number[] = [];
  for (const [i, entry] of entries.entries()) {
    const parent = parents[i] ?? -1;
    const before = tokens[parent] ?? 0;
    const sumBefore = sums[parent] ?? 0;
    const { type, firstKeptEntryId, summary } = entry;
    let change = tokenChange(entry);
    sums[i] = sumBefore + ('add' in change ? change.add : ownTokens(entry));
    if (type === 'compaction' && 'add' in change) {
      const kept = typeof firstKeptEntryId === 'string' ? find(firstKeptEntryId, i) : undefined;
      const keptTokens = kept === undefined ? 0 : sumBefore - (sums[parents[kept] ?? -1] ?? 0);
      const own = typeof summary === 'string' ? estimateEntryTokens(entry) : 0;
      change = { set: own + Math.max(0, keptTokens) };
    }
    const now = changeTokens(before, change);
    tokens[i] = now;
    // The end of a turn hangs on its answer and counts it.
    if (isSideEntry(entry) && parent >= 0) tokens[parent] = now;
  }
  return tokens;
}

/** The number at one entry; null is the beginning of the conversation. */
export function tokensAtEntry(entries: readonly Entry[], id: string | null): number {
  const at = id === null ? -1 : entries.findLastIndex((entry) => entry.id === id);
  return tokensAtEntries(entries)[at] ?? 0;
}

function count(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}
