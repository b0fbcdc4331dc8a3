import { tokensAtEntries } from '../../context/session-tokens.ts';
import { blobNames, hydrateBlobs, releaseBlobs } from '../../transcript/blobs.ts';
import { type Entry, entryTime, isSideEntry } from '../../transcript/entry.ts';
import { entryIdForSeq } from '../../transcript/entry-id.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { buildTree } from '../../transcript/tree.ts';
import type { NewEntry, Store } from '../port/store.ts';
import { isOrigin } from '../rules/origin.ts';
import { loadBlobs } from './load-blobs.ts';

/** Fields in which an entry names another entry. */
const REFERENCES = ['firstKeptEntryId', 'targetId', 'fromId'] as const;
const BATCH = 100;
/** An append carries its blobs in memory, so it ends at this number of blobs. */
const BATCH_BLOBS = 4;
const BATCH_BYTES = 4 * 1024 * 1024;

export interface CopyOptions {
  /**
   * Where to read the blobs that entries reference. Without it, or if a blob is lost, its preview becomes plain text.
   */
  readonly blobsFrom?: { readonly store: Pick<Store, 'blob'>; readonly id: string };
  /** Epoch of the caller's lease; needed if other processes may already use the session. */
  readonly epoch?: number;
  /** What the session already has of these entries. Unset: nothing. */
  readonly onto?: CopyBase;
}

/** The state of a session that has a part of the entries. */
export interface CopyBase {
  /** The id in the session of each entry that it has, by its position in the list. */
  readonly stored: ReadonlyMap<number, string>;
  /** Where the session stands. */
  readonly leaf: string | null;
  /** The session stays where it stands: new entries become a side branch, and each append ends with a move back. */
  readonly stays: boolean;
  readonly tokenEstimate: number;
  /**
   * Names the state for idempotency: two copies that read the same state write the same key, so only one of them
   * writes. It changes with each append.
   */
  readonly lastSeq: number;
  /** Added to the data of each move that is not a move back. */
  readonly moveData?: JsonObject;
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
  { blobsFrom, epoch, onto }: CopyOptions = {},
): Promise<number> {
  const tree = buildTree(entries);
  const tokens = tokensAtEntries(entries);
  const newIds = new Map<string, string>();
  /** Other tools use labels as parents. An entry below a label is attached to the label's parent instead. */
  const hangsAt = new Map<string, string | null>();
  const chainIdOf = (id: string | undefined): string | null =>
    id === undefined ? null : hangsAt.has(id) ? (hangsAt.get(id) ?? null) : id;
  let pending: { readonly entry: NewEntry; readonly from?: string; readonly isCopy: boolean }[] = [];
  let pendingBlobs = 0;
  let pendingBytes = 0;
  let batches = 0;
  let copied = 0;
  let leafHere = onto?.leaf ?? null;
  let lastSeq = onto?.lastSeq ?? 0;
  const flush = async (): Promise<void> => {
    if (pending.length === 0) return;
    const batch = pending.map(({ entry }) => entry);
    const blobs =
      blobsFrom === undefined
        ? new Map<string, Uint8Array>()
        : await loadBlobs(blobsFrom.store, blobsFrom.id, batch);
    const whole = releaseBlobs(hydrateBlobs(batch, blobs));
    const lastCopy = pending.findLastIndex(({ isCopy }) => isCopy);
    const key = lastCopy === -1 ? `import-${lastSeq}-move` : `import-${lastSeq}`;
    if (onto?.stays === true) whole.push(leafMove(onto.leaf, { tokenEstimate: onto.tokenEstimate }));
    const { firstSeq } = await store.append(sessionId, whole, {
      key: onto === undefined ? `copy-${batches++}` : key,
      ...(epoch !== undefined && { epoch }),
      ...(onto !== undefined && { expectedLeaf: leafHere }),
    });
    // The store returns the seqs. They cannot be counted here, because other callers may append settings meanwhile.
    for (const [i, { from }] of pending.entries())
      if (from !== undefined) newIds.set(from, entryIdForSeq(firstSeq + i));
    if (lastCopy !== -1) lastSeq = firstSeq + lastCopy;
    if (onto?.stays === true) leaf = undefined;
    else
      for (const [i, { entry, from }] of pending.entries())
        if (from !== undefined) leafHere = entryIdForSeq(firstSeq + i);
        else if (isLeafMove(entry)) leafHere = entry.parentId ?? null;
    pending = [];
    pendingBlobs = 0;
    pendingBytes = 0;
  };
  const newIdOf = async (id: string): Promise<string | undefined> => {
    if (pending.some(({ from }) => from === id)) await flush();
    return newIds.get(id);
  };
  const add = (entry: NewEntry, isCopy: boolean, from?: string): void => {
    pending.push({ entry, isCopy, ...(from !== undefined && { from }) });
    pendingBlobs += blobNames([entry]).size;
    pendingBytes += roughBytes(entry);
  };
  /** Undefined: at an entry that is not in the list. */
  let leaf = leafInList(entries, onto);
  const moveTo = async (position: number): Promise<void> => {
    const parent = chainIdOf(entries[position]?.id);
    if (parent === leaf) return;
    const parentId = parent === null ? null : ((await newIdOf(parent)) ?? null);
    add(leafMove(parentId, { tokenEstimate: tokens[position] ?? 0, ...onto?.moveData }), false);
    leaf = parent;
  };
  for (const [position, entry] of entries.entries()) {
    const parentPosition = tree.parents[position] ?? -1;
    // Skip verbatim copies of earlier entries, our own leaf moves, which are created again where needed, and the
    // origin, which the new session got when it was created.
    if (parentPosition < -1 || isLeafMove(entry) || isOrigin(entry)) continue;
    const stored = onto?.stored.get(position);
    if (stored !== undefined) {
      if (isSideEntry(entry)) hangsAt.set(entry.id, chainIdOf(entries[parentPosition]?.id));
      else newIds.set(entry.id, stored);
      continue;
    }
    const translated = await translate(entry, (id) => newIdOf(chainIdOf(id) ?? id));
    await moveTo(parentPosition);
    // Other tools do not write how large the context is after a compaction.
    const isCounted = entry.type !== 'compaction' || typeof entry['tokensAfter'] === 'number';
    const copy = isCounted ? translated : { ...translated, tokensAfter: tokens[position] ?? 0 };
    if (isSideEntry(entry)) {
      add(copy, true);
      hangsAt.set(entry.id, leaf ?? null);
    } else {
      add(copy, true, entry.id);
      leaf = entry.id;
    }
    copied++;
    const isFull = pending.length >= BATCH || pendingBlobs >= BATCH_BLOBS || pendingBytes >= BATCH_BYTES;
    if (isFull) await flush();
  }
  if (onto?.stays !== true) await moveTo(tree.leaf);
  await flush();
  return copied;
}

/** The entry of the list at which the session stands. @returns undefined if it stands at another one. */
function leafInList(entries: readonly Entry[], onto: CopyBase | undefined): string | null | undefined {
  if (onto === undefined || onto.leaf === null) return null;
  if (onto.stays) return undefined;
  let found: string | undefined;
  for (const [position, id] of onto.stored) if (id === onto.leaf) found = entries[position]?.id;
  return found;
}

function leafMove(parentId: string | null, data: JsonObject): NewEntry {
  return { type: 'custom', customType: 'reprise.leaf', parentId, data };
}

/** The characters of its text and images, without encoding it. */
function roughBytes({ message, summary, content }: NewEntry): number {
  const blocks = isObject(message) ? message['content'] : content;
  if (typeof blocks === 'string') return blocks.length;
  if (!Array.isArray(blocks)) return typeof summary === 'string' ? summary.length : 0;
  let bytes = 0;
  for (const block of blocks as readonly unknown[])
    if (isObject(block))
      for (const part of [block['text'], block['data'], block['thinking']])
        if (typeof part === 'string') bytes += part.length;
  return bytes;
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

function isLeafMove({ type, customType }: { readonly type: string; readonly customType?: unknown }): boolean {
  return type === 'custom' && customType === 'reprise.leaf';
}
