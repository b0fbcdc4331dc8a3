import { loadBlobs } from '../../store/copy/load-blobs.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { hydrateBlobs } from '../../transcript/blobs.ts';
import type { Entry } from '../../transcript/entry.ts';
import { entriesIn } from '../history/read-history.ts';
import { type ContextView, makeView, type RequestFrame } from './turn-context.ts';

/** So many entries hold most conversations whole. */
const FIRST_ENTRIES = 1000;

export interface NewestContext {
  readonly view: ContextView;
  /** It is more than fits by its newest part already; what is older was not looked at. */
  readonly isPart: boolean;
}

/**
 * Reads the context for reports. A history that was never compacted may have any length, and if it exceeds the window,
 * that fact is enough: so it is read from its end, as far as needed to fill the window.
 */
export async function newestContext(
  store: Pick<Store, 'tail' | 'blob'>,
  { id, leaf }: Pick<SessionRecord, 'id' | 'leaf'>,
  frame: RequestFrame,
  windowTokens: number,
): Promise<NewestContext> {
  for (let limit = FIRST_ENTRIES; ; limit *= 2) {
    const { entries: stored, hasMore } = await store.tail(id, { limit });
    const entries = entriesIn(stored);
    const path = hasMore ? endOfPath(entries, leaf) : entries;
    if (path.length === 0 && hasMore) continue;
    const view = makeView(hydrateBlobs(path, await loadBlobs(store, id, path)), frame);
    if (!hasMore || view.estimated > windowTokens) return { view, isPart: hasMore };
  }
}

/** Up from the leaf, as far as its parents are among these; empty where the leaf is not. */
function endOfPath(entries: readonly Entry[], leaf: string | null): Entry[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path: Entry[] = [];
  for (let entry = byId.get(leaf ?? ''); entry !== undefined; entry = byId.get(entry.parentId ?? '')) {
    byId.delete(entry.id); // a file of another tool may hold a cycle
    path.push(entry);
  }
  return path.reverse();
}
