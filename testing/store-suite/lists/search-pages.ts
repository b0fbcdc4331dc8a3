import assert from 'node:assert/strict';
import type { SearchHit } from '../../../src/store/port/search.ts';
import type { NewEntry, Store } from '../../../src/store/port/store.ts';
import { beforeAndAfter, entryAt, PATIENT, range, refused, session, user, within } from '../kit.ts';
import type { StoreCase } from '../store-case.ts';
import { finds } from './search.ts';

/* Which hits a search returns, in which order and of which sessions. */

export const searchPageCases: readonly StoreCase[] = [
  {
    name: 'a search returns the newest hits first, up to its limit',
    promise: 'P9: users find messages',
    area: 'search',
    async run({ store }) {
      const id = await session(
        store,
        range(1, 6).map((i) => (i === 3 ? 'else' : `needle ${i}`)),
      );
      await finds(
        store,
        'needle',
        [7, 6, 5, 3, 2].map((seq) => [id, seq] as const),
      );
      const some = await store.search({ text: 'needle', limit: 2, ...PATIENT });
      assert.deepEqual(
        some.hits.map(({ seq }) => seq),
        [7, 6],
      );
      assert.equal(some.complete, true);
      for (const { snippet } of some.hits) assert.ok(snippet.includes('needle'));
    },
  },
  {
    name: 'the newest hit is first, whichever session it is in',
    promise: 'P9: users find messages',
    area: 'search',
    async run({ store }) {
      const ids = [
        await session(store, [], 'agent:main:main'),
        await session(store, [], 'agent:main:direct:ada'),
        await session(store, [], 'agent:main:direct:bob'),
      ];
      const said: Place[] = [];
      for (const i of [0, 1, 2, 1, 0, 2, 2, 1, 0]) {
        const id = ids[i] ?? '';
        const { seq, timestamp: at } = await saidAt(store, id, user(`needle of ${i}`));
        said.push({ id, seq, at });
        await nextMillisecond();
      }
      const expected = said.sort(newestFirst).map(({ id, seq }) => [id, seq] as const);
      // Moving a session to the front of the list does not make its messages newer.
      await store.append(ids[1] ?? '', [user('something else')]);
      await finds(store, 'needle', expected);
      await finds(store, { text: 'needle', limit: 4 }, expected.slice(0, 4));
    },
  },
  {
    name: 'a copy is found at the time of its original, and pages are ordered by that time',
    promise: 'P9: users find messages',
    area: 'search',
    async run({ store, reopen }) {
      const copy = (text: string, copiedAt: string): NewEntry => ({ ...user(`needle ${text}`), copiedAt });
      const id = await session(store, ['needle of now']);
      await store.append(id, [
        copy('of June', '2024-06-01T00:00:00.000Z'),
        copy('of May', '2024-05-01T00:00:00.000Z'),
        copy('of no time', 'some day'),
        // By the clock of another machine; a message is never newer than its storage.
        copy('of later', '2999-01-01T00:00:00.000Z'),
      ]);
      const expected = [6, 5, 2, 3, 4].map((seq) => [id, seq] as const);
      for await (const open of beforeAndAfter({ store, reopen })) {
        await finds(open, 'needle', expected);
        const found: SearchHit[] = [];
        for (let after: string | null | undefined; after !== null; ) {
          const page = await open.search({ text: 'needle', limit: 2, ...PATIENT, ...(after && { after }) });
          found.push(...page.hits);
          after = page.next;
        }
        assert.deepEqual(
          found.map(({ seq }) => seq),
          expected.map(([, seq]) => seq),
        );
        assert.equal(found[3]?.at, '2024-06-01T00:00:00.000Z');
      }
    },
  },
  {
    name: 'a hit names the agent of its session',
    promise: 'P9: a hit can be opened',
    area: 'search',
    async run({ store, reopen }) {
      const one = await session(store, ['needle'], 'agent:main:main');
      const other = await session(store, ['needle'], 'agent:other:direct:ada');
      for await (const open of beforeAndAfter({ store, reopen })) {
        const { hits } = await open.search({ text: 'needle', ...PATIENT });
        assert.deepEqual(
          new Map(hits.map(({ id, agentId }) => [id, agentId])),
          new Map([
            [one, 'main'],
            [other, 'other'],
          ]),
        );
      }
    },
  },
  {
    name: 'the pages of a search contain each hit once, in order, also while messages are added',
    promise: 'P9: users find messages',
    area: 'search',
    async run({ store, reopen }) {
      const ids: string[] = [];
      for (const peer of ['a', 'b', 'c']) ids.push(await session(store, [], `agent:main:direct:${peer}`));
      // Several entries of one append have the same time.
      for (const i of range(0, 11))
        await store.append(ids[i % 3] ?? '', [user(`needle ${i}`), user(`needle ${i}b`)]);
      const all = (await store.search({ text: 'needle', limit: 100, ...PATIENT })).hits;
      assert.equal(all.length, 24);
      assert.deepEqual(places(all), places([...all].sort(newestFirst)));
      for await (const open of beforeAndAfter({ store, reopen })) {
        for (const limit of [1, 5, 23, 24]) {
          const paged: SearchHit[] = [];
          for (let after: string | null | undefined; after !== null; ) {
            const page = await open.search({
              text: 'needle',
              limit,
              ...PATIENT,
              ...(after !== undefined && { after }),
            });
            assert.ok(page.hits.length <= limit && (page.hits.length > 0 || paged.length > 0));
            paged.push(...page.hits);
            after = page.next;
            assert.ok(paged.length <= all.length, 'pages end');
          }
          assert.deepEqual(paged, all, `pages of ${limit}`);
        }
      }
      const last = await reopen();
      const { next } = await last.search({ text: 'needle', limit: 3, ...PATIENT });
      await last.append(ids[0] ?? '', [user('needle, later')]);
      const rest = await last.search({ text: 'needle', limit: 100, after: next ?? '', ...PATIENT });
      assert.deepEqual(rest.hits, all.slice(3));
      assert.equal(rest.next, null);
    },
  },
  {
    name: 'a search can be limited to one agent',
    promise: 'P8: no reads across',
    area: 'search',
    async run({ store }) {
      const mine = await session(store, ['a secret word'], 'agent:mine:main');
      const yours = await session(store, ['a secret word'], 'agent:yours:main');
      for (const [agentId, id] of [
        ['mine', mine],
        ['yours', yours],
      ] as const)
        await finds(store, { text: 'secret', agentId }, [[id, 2]]);
      await finds(store, { text: 'secret', agentId: 'nobody' }, []);
    },
  },
  {
    name: 'a search can be limited to one channel and to one session',
    promise: 'P8: no reads across',
    area: 'search',
    async run({ store }) {
      const chat = await session(store, ['a secret word', 'the word'], 'agent:main:telegram:direct:ada');
      const other = await session(store, ['a secret word'], 'agent:main:discord:group:g1');
      const main = await session(store, ['a secret word']);
      await finds(store, { text: 'secret', channel: 'telegram' }, [[chat, 2]]);
      await finds(store, { text: 'secret', channel: 'discord' }, [[other, 2]]);
      await finds(store, { text: 'secret', channel: 'irc' }, []);
      await finds(store, { text: 'secret', channel: 'irc\u0000' }, []);
      await finds(store, { text: 'word', sessionId: chat }, [
        [chat, 3],
        [chat, 2],
      ]);
      await finds(store, { text: 'secret', sessionId: main }, [[main, 2]]);
      await finds(store, { text: 'secret', sessionId: main, channel: 'discord' }, []);
      await refused(store.search({ text: 'secret', sessionId: 'not-here' }), 'SESSION_NOT_FOUND');
    },
  },
  {
    name: 'deleted sessions are not found, restored ones are, and purged ones are gone',
    promise: 'P8: deleted sessions are not shown',
    area: 'search',
    async run({ store, reopen }) {
      const kept = await session(store, ['a burnt word'], 'agent:main:direct:ada');
      const id = await session(store, ['a burnt word'], 'agent:main:direct:bob');
      await finds(store, { text: 'burnt', sessionId: id }, [[id, 2]]);
      await store.delete(id);
      await finds(store, 'burnt', [[kept, 2]]);
      await store.restore(id);
      await finds(store, { text: 'burnt', sessionId: id }, [[id, 2]]);
      assert.equal((await store.search({ text: 'burnt', ...PATIENT })).hits.length, 2);
      await store.delete(id);
      await store.purge(id);
      for await (const open of beforeAndAfter({ store, reopen })) await finds(open, 'burnt', [[kept, 2]]);
      await refused((await reopen()).search({ text: 'burnt', sessionId: id }), 'GONE');
    },
  },
  {
    name: 'an acknowledged append is found immediately',
    promise: 'P1: acknowledged entries are stored',
    area: 'search',
    async run({ store }) {
      const id = await session(store);
      for (const i of range(1, 20)) {
        const { lastSeq } = await store.append(id, [user(`number-${i}-of-many`)]);
        await finds(store, `number-${i}-of`, [[id, lastSeq]]);
      }
      const ids = await Promise.all(
        range(1, 8).map((i) => session(store, [`crowd ${i}`], `agent:main:direct:p${i}`)),
      );
      const { hits, complete } = await store.search({ text: 'crowd', ...PATIENT });
      assert.deepEqual([hits.map((hit) => hit.id).sort(), complete], [ids.sort(), true]);
    },
  },
  {
    name: 'a rebuilt index finds the same',
    promise: 'P9: users find messages',
    area: 'search',
    async run({ store, reopen }) {
      const id = await session(store, ['one needle', '会议', 'two needles']);
      for await (const open of beforeAndAfter({ store, reopen })) {
        const before = await open.search({ text: 'needle', ...PATIENT });
        assert.ok(before.hits.length > 0);
        await within(open.reindex(), 'a new index');
        assert.deepEqual(await open.search({ text: 'needle', ...PATIENT }), before);
        await finds(open, '会议', [[id, 3]]);
        const { search } = await open.stats({ search: true });
        const isIndex = open.supports.search === 'index';
        assert.equal(search !== undefined, isIndex, 'stats report an index exactly if the store has one');
        assert.equal(search?.done, search?.total);
        const { lastSeq } = await open.append(id, [user(`needle ${before.hits.length + 1}`)]);
        await finds(open, { text: 'needle', limit: 1 }, [[id, lastSeq]]);
      }
    },
  },
  {
    name: 'an invalid search is refused',
    promise: 'P2: a refusal is a coded error that wrote nothing',
    area: 'search',
    async run({ store }) {
      await session(store, ['some words']);
      const long = await refused(store.search({ text: 'x'.repeat(10 * 1024 * 1024) }), 'LIMIT_EXCEEDED');
      assert.equal(long.details['limit'], 'query');
      for (const limit of [0, -1, 1.5, Number.NaN])
        await refused(store.search({ text: 'words', limit }), 'INVALID_INPUT');
      for (const budgetMs of [-1, Number.NaN])
        await refused(store.search({ text: 'words', budgetMs }), 'INVALID_INPUT');
      for (const after of ['', 'x', 'bm90IG91cnM'])
        await refused(store.search({ text: 'words', after }), 'INVALID_INPUT');
    },
  },
  {
    name: 'a text too long to be indexed completely is found by its start',
    promise: 'P9: users find messages',
    area: 'search',
    async run({ store }) {
      const id = await session(store, []);
      const filler = 'lorem ipsum '.repeat(10_000);
      await store.append(id, [user(`beginning ${filler} middle ${filler}${filler}${filler} ending`)]);
      await finds(store, 'beginning', [[id, 2]]);
      await finds(store, 'middle', [[id, 2]]);
      await finds(store, 'ending', []);
    },
  },
];

type Place = Pick<SearchHit, 'id' | 'seq' | 'at'>;

async function saidAt(
  store: Store,
  id: string,
  entry: NewEntry,
): Promise<{ seq: number; timestamp: string }> {
  const { lastSeq: seq } = await store.append(id, [entry]);
  return { seq, timestamp: (await entryAt(store, id, seq)).timestamp };
}

function newestFirst(a: Place, b: Place): number {
  if (a.at !== b.at) return a.at < b.at ? 1 : -1;
  if (a.id !== b.id) return a.id < b.id ? 1 : -1;
  return b.seq - a.seq;
}

const places = (hits: readonly SearchHit[]): unknown[] => hits.map(({ at, id, seq }) => [at, id, seq]);

/** Waits until two messages get different times. */
async function nextMillisecond(): Promise<void> {
  const now = Date.now();
  while (Date.now() === now) await new Promise((resolve) => setImmediate(resolve));
}
