import type { ListQuery, NewEntry, SessionPage } from '../../../src/store/port/store.ts';
import type { PlainStore } from '../plain-store/plain-store.ts';
import { type BrokenStore, broken } from './broken-store.ts';

/** A list that is right but for what is done to its question or its answer. */
function brokenList(
  name: string,
  caughtBy: string,
  mistake: (query: ListQuery, right: PlainStore, store: PlainStore) => Promise<SessionPage>,
): BrokenStore {
  return broken(name, caughtBy, (store, right) => ({ list: (query = {}) => mistake(query, right, store) }));
}

const SORTED = 'a list can be sorted by time, messages and tokens, both ways, in pages without gaps';
const COPIES =
  'a session whose last entry is a copy is as old as the original, until something new is stored in it';
const ESTIMATED = 'the tokens of a session are estimated where no usage was reported';
const COUNTED = 'reported usage, the end of a turn, a compaction and a move say how large the context is';
const CUT = 'a tail can be limited to its newest entries and to some kinds';

export const brokenLists: readonly BrokenStore[] = [
  brokenList('sorts every list by time', SORTED, ({ sort: _sort, ...query }, right) => right.list(query)),
  brokenList('ignores the order of a list', SORTED, ({ order: _order, ...query }, right) =>
    right.list(query),
  ),
  brokenList('sorts a page, not the list', SORTED, async ({ sort = 'time', ...query }, right) => {
    const page = await right.list(query);
    const name = sort === 'messages' ? 'messageCount' : 'tokenEstimate';
    if (sort === 'time') return page;
    return { ...page, sessions: page.sessions.toSorted((a, b) => b[name] - a[name]) };
  }),
  brokenList(
    'leaves out sessions that count the same as the last of a page',
    SORTED,
    async (query, right) => {
      const page = await right.list(query);
      if (query.cursor === undefined || query.sort !== 'messages') return page;
      const before = Number(/^messages 0*(\d+)/.exec(query.cursor)?.[1]);
      return { ...page, sessions: page.sessions.filter(({ messageCount }) => messageCount !== before) };
    },
  ),
  brokenList(
    'sorts by what was counted when it was last looked at',
    'a session that grows moves up immediately in a list by messages or tokens',
    async (query, right) => {
      const { sessions } = await right.list({ ...query, limit: 1000 });
      const isGrown = ({ messageCount }: SessionPage['sessions'][number]): boolean => messageCount > 15;
      const late = [...sessions.filter((one) => !isGrown(one)), ...sessions.filter(isGrown)];
      return { sessions: late.slice(0, query.limit ?? 50), cursor: null };
    },
  ),
  brokenList(
    'takes any cursor',
    'an unknown sort and a cursor of another sort are refused',
    ({ cursor, sort = 'time', ...query }, right) =>
      right.list({ ...query, sort, ...(cursor !== undefined && { cursor: cursor.replace(/^\w+/, sort) }) }),
  ),
  brokenList(
    'forgets its filters when it sorts',
    'sorted lists can be filtered like others',
    ({ agentId, ...query }, right) =>
      right.list({ ...query, ...(agentId !== undefined && query.sort === 'time' && { agentId }) }),
  ),
  broken('dates a copy by when it was stored', COPIES, (_store, right) => ({
    append: (id, entries, options) =>
      right.append(
        id,
        entries.map(({ copiedAt: _copiedAt, ...entry }) => entry as NewEntry),
        options,
      ),
  })),
  ...[0, 9].map((tokenEstimate) =>
    broken(`counts ${tokenEstimate} tokens where no usage was reported`, ESTIMATED, (_store, right) => ({
      get: async (id) => ({ ...(await right.get(id)), tokenEstimate }),
    })),
  ),
  broken('adds usage to what it has counted', COUNTED, (_store, right) => ({
    get: async (id) => {
      const record = await right.get(id);
      return { ...record, tokenEstimate: record.tokenEstimate + 20 };
    },
  })),
  broken('dates every session by when it was stored', COPIES, (_store, right) => ({
    create: ({ createdAt: _createdAt, ...init }) => right.create(init),
  })),
  broken('answers a tail whole, whatever was asked for', CUT, (_store, right) => ({
    tail: (id) => right.tail(id),
  })),
  broken('cuts a tail at the wrong end', CUT, (_store, right) => ({
    tail: async (id, { limit = 1000, ...options } = {}) => {
      const page = await right.tail(id, options);
      return {
        ...page,
        entries: page.entries.slice(0, limit),
        hasMore: page.entries.length > limit,
      };
    },
  })),
  broken('knows one agent only', 'a hit names the agent of its session', (_store, right) => ({
    search: async (query) => {
      const found = await right.search(query);
      return { ...found, hits: found.hits.map((hit) => ({ ...hit, agentId: 'main' })) };
    },
  })),
];
