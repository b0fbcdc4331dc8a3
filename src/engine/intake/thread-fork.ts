import { estimateEntryTokens } from '../../context/estimate-message.ts';
import { RepriseError } from '../../errors.ts';
import { copyHistory } from '../../store/copy/copy-history.ts';
import { noneIfGone } from '../../store/port/nobody.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { pathEntries } from '../../transcript/tree.ts';
import { type ForkMark, forkMark, markEntry } from '../history/fork-mark.ts';
import { entriesIn, readHistory } from '../history/read-history.ts';

/** Longer histories are not copied: every thread would start with a compaction. */
export const MAX_FORK_TOKENS = 100_000;

export interface ForkThreadOptions {
  /** The session of the thread, before its first message is appended. */
  readonly record: SessionRecord;
  /** The session key of the conversation that contains the thread. */
  readonly parentKey: string;
  readonly maxTokens?: number;
  /** Epoch of the runner's lease. */
  readonly epoch?: number;
}

export type ForkOutcome = 'forked' | 'too-long' | 'none';

/**
 * Copies the current history of the parent conversation into the session of a thread, once. The first call stores what is
 * copied; later calls, also after a crash, finish the same copy (`copyHistory` writes only what is missing). Must be
 * called before the first message is appended; later it does nothing.
 */
export async function forkThread(store: Store, options: ForkThreadOptions): Promise<ForkOutcome> {
  const known = forkMark(options.record.settings);
  if (known?.state === 'done') return 'forked';
  if (known?.state === 'too-long') return 'too-long';
  const mark = known ?? (await begin(store, options));
  if (mark === undefined) return 'none';
  if (mark.state !== 'copying') return mark.state === 'done' ? 'forked' : 'too-long';
  const { record, epoch } = options;
  const fence = epoch === undefined ? {} : { epoch };
  // If the parent was purged meanwhile, the thread starts empty.
  const all = await readHistory(store, mark.from).catch(noneIfGone);
  const path = all === undefined || mark.leaf === null ? [] : pathEntries(all, mark.leaf);
  await copyHistory(store, record.id, path, { blobsFrom: { store, id: mark.from }, ...fence });
  await store.append(record.id, [markEntry({ ...mark, state: 'done' })], { key: 'fork-done', ...fence });
  return 'forked';
}

async function begin(
  store: Store,
  { record, parentKey, maxTokens = MAX_FORK_TOKENS, epoch }: ForkThreadOptions,
): Promise<ForkMark | undefined> {
  if (record.leaf !== null || (await isReset(store, record))) return undefined;
  const parent = await store.active(parentKey);
  if (parent?.leaf == null) return undefined;
  const isTooLong = (await tokensOf(store, parent)) > maxTokens;
  const mark: ForkMark = { from: parent.id, leaf: parent.leaf, state: isTooLong ? 'too-long' : 'copying' };
  try {
    const fence = epoch === undefined ? {} : { epoch };
    await store.append(record.id, [markEntry(mark)], { key: 'fork', expectedLeaf: null, ...fence });
    return mark;
  } catch (error) {
    const code = error instanceof RepriseError ? error.code : undefined;
    // The thread has messages already, so it started without the history.
    if (code === 'LEAF_MOVED') return undefined;
    if (code !== 'KEY_REUSED') throw error;
    // Another process started the copy when the parent had another leaf. Finish that copy.
    return forkMark((await store.get(record.id)).settings);
  }
}

/** A reset in a thread asks for an empty session, so nothing is copied. */
async function isReset(store: Store, { parentId, sessionKey }: SessionRecord): Promise<boolean> {
  if (parentId === undefined) return false;
  const parent = await store.get(parentId).catch(noneIfGone);
  return parent === undefined || parent.sessionKey === sessionKey;
}

/** The size that the provider reported last, or our estimate. */
async function tokensOf(store: Store, { id, tokenEstimate }: SessionRecord): Promise<number> {
  if (tokenEstimate > 0) return tokenEstimate;
  const { entries } = await store.tail(id);
  return entriesIn(entries).reduce((sum, entry) => sum + estimateEntryTokens(entry), 0);
}
