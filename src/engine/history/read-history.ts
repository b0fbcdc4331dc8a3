import type { Store, StoredEntry } from '../../store/port/store.ts';
import type { Entry } from '../../transcript/entry.ts';

/** For surfaces: a whole session as one file, of any length. */
export { wholeParts } from '../../store/copy/whole-parts.ts';

const PAGE = 1000;
/** Page size of a backward search; the result is usually near the end. */
const LOOK = 200;

/** Every entry of a session, including abandoned branches, without the header. */
export async function readHistory(store: Pick<Store, 'read'>, sessionId: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let from = 1; ; ) {
    const page = await store.read(sessionId, { from, limit: PAGE });
    for (const entry of entriesIn(page.entries)) entries.push(entry);
    const last = page.entries.at(-1);
    if (!page.hasMore || last === undefined) return entries;
    from = last.seq + 1;
  }
}

/** Yields the lines of a session from its end; reads only as far as the caller iterates. */
export async function* newestFirst(
  store: Pick<Store, 'read'>,
  sessionId: string,
): AsyncGenerator<StoredEntry, void, undefined> {
  for (let from: number | undefined; ; ) {
    const range = { limit: LOOK, direction: 'backward', ...(from !== undefined && { from }) } as const;
    const { entries, hasMore } = await store.read(sessionId, range);
    const sorted = [...entries].sort((a, b) => b.seq - a.seq);
    yield* sorted;
    const oldest = sorted.at(-1);
    if (!hasMore || oldest === undefined || oldest.seq <= 1) return;
    from = oldest.seq - 1;
  }
}

/** The entries among read lines, without the header. */
export function entriesIn(stored: readonly StoredEntry[]): Entry[] {
  return stored.flatMap(({ entry }) => (entry.type === 'session' ? [] : [entry as Entry]));
}
