import { blobNames, hydrateBlobs, releaseBlobs } from '../transcript/blobs.ts';
import { type Entry, isSideEntry } from '../transcript/entry.ts';
import { entryIdForSeq } from '../transcript/entry-id.ts';
import { buildTree } from '../transcript/tree.ts';
import { loadBlobs } from './load-blobs.ts';
import type { NewEntry, Store } from './store.ts';

/** Fields by which one entry names another. */
const REFERENCES = ['firstKeptEntryId', 'targetId', 'fromId'] as const;
const BATCH = 100;
/** Blobs are carried in memory, so an append ends when it has this many. */
const BATCH_BLOBS = 4;

export interface CopyOptions {
  /** Where the blobs can be had that entries name; without it, and where one is lost, previews become plain text. */
  readonly blobsFrom?: { readonly store: Store; readonly id: string };
}

/**
 * Copies entries into an empty session, sealed anew. The store gives new ids, so every name of an entry is
 * translated; branches stay branches, by leaf moves. Blobs go along.
 */
export async function copyHistory(
  store: Store,
  sessionId: string,
  entries: readonly Entry[],
  { blobsFrom }: CopyOptions = {},
): Promise<number> {
  const tree = buildTree(entries);
  const newIds = new Map<string, string>();
  let copied = 0;
  /** Other tools chain through their labels; what hangs below one hangs where the label hangs. */
  const hangAt = (id: string, at: string | null): void => {
    if (at !== null) newIds.set(id, at);
  };
  let { lastSeq, leaf } = await store.get(sessionId);
  let pending: NewEntry[] = [];
  let pendingBlobs = 0;
  const flush = async (): Promise<void> => {
    const blobs =
      blobsFrom === undefined
        ? new Map<string, Uint8Array>()
        : await loadBlobs(blobsFrom.store, blobsFrom.id, pending);
    const whole = releaseBlobs(hydrateBlobs(pending, blobs));
    if (whole.length > 0) await store.append(sessionId, whole, { key: `copy-${lastSeq}` });
    pending = [];
    pendingBlobs = 0;
  };
  const add = (entry: NewEntry): string => {
    pending.push(entry);
    pendingBlobs += blobNames([entry]).size;
    lastSeq++;
    return entryIdForSeq(lastSeq);
  };
  const moveTo = (parent: string | null): void => {
    if (parent === leaf) return;
    add({ type: 'custom', customType: 'reprise.leaf', parentId: parent });
    leaf = parent;
  };
  for (const [position, entry] of entries.entries()) {
    const parentPosition = tree.parents[position] ?? -1;
    // A verbatim copy of an earlier entry, or our own leaf moves, which are made anew where they are needed.
    if (parentPosition < -1 || isLeafMove(entry)) continue;
    moveTo(newIds.get(entries[parentPosition]?.id ?? '') ?? null);
    const id = add(translate(entry, newIds));
    if (isSideEntry(entry)) hangAt(entry.id, leaf);
    else {
      newIds.set(entry.id, id);
      leaf = id;
    }
    copied++;
    if (pending.length >= BATCH || pendingBlobs >= BATCH_BLOBS) await flush();
  }
  moveTo(newIds.get(entries[tree.leaf]?.id ?? '') ?? leaf);
  await flush();
  return copied;
}

function translate(entry: Entry, newIds: ReadonlyMap<string, string>): NewEntry {
  const { id: _id, parentId: _parent, timestamp, seal: _seal, ...rest } = entry;
  const copy: Record<string, unknown> = { ...rest, copiedAt: timestamp };
  for (const name of REFERENCES) {
    const target = copy[name];
    if (typeof target === 'string') copy[name] = newIds.get(target) ?? target;
  }
  return copy as unknown as NewEntry;
}

function isLeafMove({ type, customType }: Entry): boolean {
  return type === 'custom' && customType === 'reprise.leaf';
}
