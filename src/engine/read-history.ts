import type { Store, StoredEntry } from '../store/store.ts';
import type { Entry } from '../transcript/entry.ts';

/** For surfaces: the bytes of a history, whatever its length. */
export { exportParts } from '../store/export-parts.ts';

const PAGE = 1000;

/** Every entry of a session, branches that were left included; the header is none. */
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

/** What was read without the header. */
export function entriesIn(stored: readonly StoredEntry[]): Entry[] {
  return stored.flatMap(({ entry }) => (entry.type === 'session' ? [] : [entry as Entry]));
}
