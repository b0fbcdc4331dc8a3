import { parseSessionKey } from '../../../src/keys/session-key.ts';
import type { SearchHit, SearchQuery, SearchResult } from '../../../src/store/port/search.ts';
import type { StoredEntry } from '../../../src/store/port/store.ts';
import { matchSearch } from '../../../src/store/search/search-match.ts';
import {
  checkSearch,
  compareSearchPlaces,
  formatSearchCursor,
  parseSearchCursor,
  searchWords,
} from '../../../src/store/search/search-query.ts';
import { searchable } from '../../../src/store/search/search-text.ts';

export interface PlainSearchable {
  readonly id: string;
  readonly key: string;
  readonly deleted: boolean;
  readonly entries: readonly StoredEntry[];
}

/** Everything is read, everything is sorted: what a search means, without anything that makes it fast. */
export function plainSearch(sessions: readonly PlainSearchable[], query: SearchQuery): SearchResult {
  checkSearch(query);
  const { text, limit = 20, after } = query;
  const words = searchWords(text);
  const start = after === undefined ? undefined : parseSearchCursor(after);
  const found = words.length === 0 ? [] : sessions.flatMap((session) => hitsIn(session, query, words));
  const ordered = found
    .map((hit) => ({ hit, place: { at: Date.parse(hit.at), id: hit.id, seq: hit.seq } }))
    .filter(({ place }) => start === undefined || compareSearchPlaces(start, place) < 0)
    .sort((a, b) => compareSearchPlaces(a.place, b.place));
  const page = ordered.slice(0, limit);
  const last = page.at(-1);
  const next = last === undefined || ordered.length <= limit ? null : formatSearchCursor(last.place);
  return { hits: page.map(({ hit }) => hit), next, complete: true };
}

function hitsIn(
  { id, key, deleted, entries }: PlainSearchable,
  { agentId, channel, sessionId }: SearchQuery,
  words: readonly string[],
): SearchHit[] {
  const parts = parseSessionKey(key) as { readonly agentId?: string; readonly channel?: string };
  const isWanted =
    !deleted &&
    (agentId === undefined || parts.agentId === agentId) &&
    (channel === undefined || parts.channel === channel) &&
    (sessionId === undefined || sessionId === id);
  if (!isWanted) return [];
  return entries.flatMap(({ seq, entry }) => {
    const said = searchable(entry);
    const match = said === undefined ? undefined : matchSearch(said.text, words);
    if (said === undefined || match === undefined) return [];
    const at = new Date(said.at).toISOString();
    return [
      { id, agentId: parts.agentId ?? 'main', seq, entryId: String(entry.id), role: said.role, at, ...match },
    ];
  });
}
