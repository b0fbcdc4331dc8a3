import { blobNames, hydrateBlobs, releaseBlobs } from '../../transcript/blobs.ts';
import { type Entry, entryTime, isSideEntry } from '../../transcript/entry.ts';
import { entryIdForSeq } from '../../transcript/entry-id.ts';
import { buildTree } from '../../transcript/tree.ts';
import type { NewEntry, Store } from '../port/store.ts';
import { loadBlobs } from './load-blobs.ts';

/** Fields by which one entry names another. */
const REFERENCES = ['firstKeptEntryId', 'targetId', 'fromId'] as const;
const BATCH = 100;
/** Blobs are carried in memory, so an append ends when it has this many. */
const BATCH_BLOBS = 4;

export interface CopyOptions {
  /** Where the blobs can be had that entries name; without it, and where one is lost, previews become plain text. */
  readonly blobsFrom?: { readonly store: Pick<Store, 'blob'>; readonly id: string };
  /** Of the caller's lease, where the session can be known to others already. */
  readonly epoch?: number;
}

/**
 * Copies entries into a session nothing was said in, sealed anew. The store gives new ids, so every name of an entry
 * is translated; branches stay branches, by leaf moves. Blobs go along. The same copy again, also of a try that was
 * cut short, writes only what is missing.
 */
export async function copyHistory(
  store: Store,
  sessionId: string,
  entries: readonly Entry[],
  { blobsFrom, epoch }: CopyOptions = {},
): Promise<number> {
  const tree = buildTree(entries);
  const newIds = new Map<string, string>();
  /** Other tools chain through their labels; what hangs below one hangs where the label hangs. */
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
    // Told by the store, not counted here: anybody may add a setting to the session meanwhile.
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
  const moveTo = async (parent: string | null): Promise<void> => {
    if (parent === leaf) return;
    const parentId = parent === null ? null : ((await newIdOf(parent)) ?? null);
    add({ type: 'custom', customType: 'reprise.leaf', parentId });
    leaf = parent;
  };
  for (const [position, entry] of entries.entries()) {
    const parentPosition = tree.parents[position] ?? -1;
    // A verbatim copy of an earlier entry, or our own leaf moves, which are made anew where they are needed.
    if (parentPosition < -1 || isLeafMove(entry)) continue;
    await moveTo(chainIdOf(entries[parentPosition]?.id));
    const copy = await translate(entry, (id) => newIdOf(chainIdOf(id) ?? id));
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
  await moveTo(chainIdOf(entries[tree.leaf]?.id));
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
