import { RepriseError } from '../../../src/errors.ts';
import type { SearchHit, SearchQuery, SearchResult } from '../../../src/store/port/search.ts';
import type { PlainStore } from '../plain-store/plain-store.ts';
import { type BrokenStore, broken } from './broken-store.ts';

/** A search that is right but for what is done to its question or its answer. */
function brokenSearch(
  name: string,
  caughtBy: string,
  mistake: (query: SearchQuery, right: PlainStore, store: PlainStore) => Promise<SearchResult>,
): BrokenStore {
  return broken(name, caughtBy, (store, right) => ({ search: (query) => mistake(query, right, store) }));
}

const changed = async (
  result: Promise<SearchResult>,
  change: (hits: readonly SearchHit[]) => readonly SearchHit[],
): Promise<SearchResult> => {
  const { hits, ...rest } = await result;
  return { ...rest, hits: change(hits) };
};

const PAGES = 'the pages of a search contain each hit once, in order, also while messages are added';

export const brokenSearches: readonly BrokenStore[] = [
  brokenSearch('takes search words for a pattern', 'search takes its words literally', (query, right) =>
    right.search({ ...query, text: query.text.replace(/[%_].*/, '') }),
  ),
  brokenSearch(
    'ignores case in ASCII only',
    'search finds words in any script, ignoring case',
    (query, right) =>
      changed(right.search(query), (hits) =>
        /^[ -~]*$/.test(query.text) ? hits : hits.filter(({ snippet }) => snippet.includes(query.text)),
      ),
  ),
  brokenSearch(
    'takes copies for new',
    'a copy is found at the time of its original, and pages are ordered by that time',
    (query, right) => changed(right.search(query), (hits) => hits.toSorted((a, b) => b.seq - a.seq)),
  ),
  brokenSearch(
    'is content with one of the words',
    'a search finds texts that contain all of its words, in any order, also inside of words',
    (query, right) => right.search({ ...query, text: query.text.trim().split(/\s+/)[0] ?? '' }),
  ),
  brokenSearch(
    'finds whole words only',
    'a search finds texts that contain all of its words, in any order, also inside of words',
    (query, right) =>
      changed(right.search(query), (hits) =>
        hits.filter(({ snippet }) => snippet.split(/\W+/).includes(query.text.trim())),
      ),
  ),
  brokenSearch(
    'does not know phrases',
    'words in quotation marks match together, whatever white space separates them',
    (query, right) => right.search({ ...query, text: query.text.replaceAll('"', '') }),
  ),
  brokenSearch(
    'drops punctuation, as tokenizers for prose do',
    'code is found with its punctuation',
    (query, right) => right.search({ ...query, text: query.text.replace(/[^\w\s]+/g, ' ') }),
  ),
  brokenSearch(
    'has an index of three characters and nothing for fewer',
    'one or two characters are enough, at any position and in any script',
    (query, right) => changed(right.search(query), (hits) => ([...query.text].length < 3 ? [] : hits)),
  ),
  brokenSearch(
    'finds what tools returned only by chance',
    'messages, answers, tool results and summaries are found; other entries are not',
    (query, right) => changed(right.search(query), (hits) => hits.filter(({ role }) => role !== 'tool')),
  ),
  brokenSearch(
    'shows the beginning of the text instead of the place',
    'a hit has its session, seq and time, and shows the match',
    (query, right) =>
      changed(right.search(query), (hits) => hits.map((hit) => ({ ...hit, snippet: 'far away far away' }))),
  ),
  brokenSearch(
    'hands its query to a parser that fails',
    'no input makes a search fail or hang',
    async (query, right) => {
      if ((query.text.match(/"/g) ?? []).length % 2 === 1)
        throw new RepriseError('STORE_FAILED', 'unterminated string', { outcome: 'none' });
      return right.search(query);
    },
  ),
  brokenSearch(
    'finds half of an emoji in a whole one',
    'half a character does not match a whole one',
    async (query, right) => {
      if (query.text !== '\ud83d') return right.search(query);
      return right.search({ ...query, text: 'here' });
    },
  ),
  brokenSearch(
    'puts the oldest first',
    'a search returns the newest hits first, up to its limit',
    (query, right) => changed(right.search(query), (hits) => hits.toReversed()),
  ),
  brokenSearch(
    'goes session by session',
    'the newest hit is first, whichever session it is in',
    (query, right) =>
      changed(right.search(query), (hits) =>
        hits.toSorted((a, b) => (a.id < b.id ? 1 : a.id > b.id ? -1 : b.seq - a.seq)),
      ),
  ),
  brokenSearch('counts pages from the newest hit of now', PAGES, async (query, right) => {
    const skip = query.after === undefined ? 0 : Number(query.after);
    const { after: _, ...rest } = query;
    const { limit = 20 } = query;
    const { hits, complete } = await right.search({ ...rest, limit: 1000 });
    const next = hits.length > skip + limit ? String(skip + limit) : null;
    return { hits: hits.slice(skip, skip + limit), next, complete };
  }),
  brokenSearch('says that there is more when there is not', PAGES, async (query, right) => {
    const found = await right.search(query);
    const all = await right.search({ ...query, limit: 1000 });
    return { ...found, next: found.next ?? (all.hits.length > 0 ? (query.after ?? null) : null) };
  }),
  brokenSearch(
    'forgets whose sessions were meant',
    'a search can be limited to one agent',
    ({ agentId: _, ...query }, right) => right.search(query),
  ),
  brokenSearch(
    'forgets the channel',
    'a search can be limited to one channel and to one session',
    ({ channel: _, ...query }, right) => right.search(query),
  ),
  brokenSearch(
    'shows what is in the trash',
    'deleted sessions are not found, restored ones are, and purged ones are gone',
    async (query, right, store) => {
      const sessions = [...store.data.sessions.values()].filter(({ deleted }) => deleted);
      for (const session of sessions) session.deleted = false;
      try {
        return await right.search(query);
      } finally {
        for (const session of sessions) session.deleted = true;
      }
    },
  ),
  broken(
    'indexes later and does not look at the rest',
    'an acknowledged append is found immediately',
    (_store, right) => {
      const fresh = new Set<string>();
      return {
        append: async (id, entries, options) => {
          const receipt = await right.append(id, entries, options);
          fresh.add(`${id}/${receipt.lastSeq}`);
          setTimeout(() => fresh.clear(), 50).unref();
          return receipt;
        },
        search: (query) =>
          changed(right.search(query), (hits) => hits.filter(({ id, seq }) => !fresh.has(`${id}/${seq}`))),
      };
    },
  ),
  broken('begins a new index and stays with it', 'a rebuilt index finds the same', (_store, right) => {
    let isNew = false;
    return {
      reindex: async () => {
        isNew = true;
      },
      search: (query) => changed(right.search(query), (hits) => (isNew ? [] : hits)),
    };
  }),
  brokenSearch('takes a query of any length', 'an invalid search is refused', (query, right) =>
    right.search({ ...query, text: query.text.slice(0, 1000) }),
  ),
  brokenSearch(
    'indexes the first kilobyte only',
    'a text too long to be indexed completely is found by its start',
    (query, right) => changed(right.search(query), (hits) => (query.text === 'middle' ? [] : hits)),
  ),
];
