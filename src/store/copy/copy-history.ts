import { tokensAtEntries } from '../../context/session-tokens.ts';
import { blobNames, hydrateBlobs, releaseBlobs } from '../../transcript/blobs.ts';
import { type Entry, entryTime, isSideEntry } from '../../transcript/entry.ts';
import { entryIdForSeq } from '../../transcript/entry-id.ts';
import { buildTree } from '../../transcript/tree.ts';
import type { NewEntry, Store } from '../port/store.ts';
import { isOrigin } from '../rules/origin.ts';
import { loadBlobs } from './load-blobs.ts';

/** Fields in which an entry names another entry. */
const REFERENCES = ['firstKeptEntryId', 'targetId', 'fromId'] as const;
const BATCH = 100;
/** An append carries its blobs in memory, so it ends at this number of blobs. */
const BATCH_BLOBS = 4;

export interface CopyOptions {
  /**
   * Where to read the blobs that entries reference. Without it, or if a blob is lost, its preview becomes plain text.
   */
  readonly blobsFrom?: { readonly store: Pick<Store, 'blob'>; readonly id: string };
  /** Epoch of the caller's lease; needed if other processes may already use the session. */
  readonly epoch?: number;
}

/**
 * Copies entries into a session without messages and seals them again. The store assigns new ids, so references
 * between entries are translated; branches are rebuilt with leaf moves. Blobs are copied too. Repeating the copy,
 * also after an interrupted attempt, writes only what is missing.
 */
export async function copyHistory(
  store: Store,
  sessionId: string,
  entries: readonly Entry[],
  { blobsFrom, epoch }: CopyOptions = {},
): Promise<number> {
  const tree = buildTree(entries);
  const tokens = tokensAtEntries(entries);
  const newIds = new Map<string, string>();
  /** Other tools use labels as parents. An entry below a label is attached to the label's parent instead. */
  const hangsAt = new Map<string, string | null>();
  const chainIdOf = (id: string | undefined): string | null =>
    id === undefined ? null : hangsAt.has(id) ? (hangsAt.get(id) ?? null) : id;
  let pending: { readonly entry: NewEntry; readonly from?: string }[] = [];
  let pendingBlobs = 0;
  let batches = 0;
  let copied = 0;
  const flush = async (): Promise<void> => {
    if (pending.length === 0) return;
    const batch = pending.map(({ entry }) => entry);
    const blobs =
      blobsFrom === undefined
        ? new Map<string, Uint8Array>()
        : await loadBlobs(blobsFrom.store, blobsFrom.id, batch);
    const key = `copy-${batches++}`;
    const whole = releaseBlobs(hydrateBlobs(batch, blobs));
    const { firstSeq } = await store.append(sessionId, whole, { key, ...(epoch !== undefined && { epoch }) });
    // The store returns the seqs. They cannot be counted here, because other callers may append settings meanwhile.
    for (const [i, { from }] of pending.entries())
      if (from !== undefined) newIds.set(from, entryIdForSeq(firstSeq + i));
    pending = [];
    pendingBlobs = 0;
  };
  const newIdOf = async (id: string): Promise<string | undefined> => {
    if (pending.some(({ from }) => from === id)) await flush();
    return newIds.get(id);
  };
  const add = (entry: NewEntry, from?: string): void => {
    pending.push({ entry, ...(from !== undefined && { from }) });
    pendingBlobs += blobNames([entry]).size;
  };
  let leaf: string | null = null;
  const moveTo = async (position: number): Promise<void> => {
    const parent = chainIdOf(entries[position]?.id);
    if (parent === leaf) return;
    const parentId = parent === null ? null : ((await newIdOf(parent)) ?? null);
    const data = { tokenEstimate: tokens[position] ?? 0 };
    add({ type: 'custom', customType: 'reprise.leaf', parentId, data });
    leaf = parent;
  };
  for (const [position, entry] of entries.entries()) {
    const parentPosition = tree.parents[position] ?? -1;
    // Skip verbatim copies of earlier entries, our own leaf moves, which are created again where needed, and the
    // origin, which the new session got when it was created.
    if (parentPosition < -1 || isLeafMove(entry) || isOrigin(entry)) continue;
    await moveTo(parentPosition);
    const translated = await translate(entry, (id) => newIdOf(chainIdOf(id) ?? id));
    // Other tools do not write how large the context is after a compaction.
    const isCounted = entry.type !== 'compaction' || typeof entry['tokensAfter'] === 'number';
    const copy = isCounted ? translated : { ...translated, tokensAfter: tokens[position] ?? 0 };
    if (isSideEntry(entry)) {
      add(copy);
      hangsAt.set(entry.id, leaf);
    } else {
      add(copy, entry.id);
      leaf = entry.id;
    }
    copied++;
    if (pending.length >= BATCH || pendingBlobs >= BATCH_BLOBS) await flush();
  }
  await moveTo(tree.leaf);
  await flush();
  return copied;
}

async function translate(
  entry: Entry,
  newIdOf: (id: string) => Promise<string | undefined>,
): Promise<NewEntry> {
  const { id: _id, parentId: _parent, timestamp: _time, seal: _seal, ...rest } = entry;
  const copy: Record<string, unknown> = { ...rest, copiedAt: entryTime(entry) };
  for (const name of REFERENCES) {
    const target = copy[name];
    if (typeof target === 'string') copy[name] = (await newIdOf(target)) ?? target;
  }
  return copy as unknown as NewEntry;
}

function isLeafMove({ type, customType }: Entry): boolean {
  return type === 'custom' && customType === 'reprise.leaf';
}
