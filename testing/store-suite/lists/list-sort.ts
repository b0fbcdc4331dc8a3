import assert from 'node:assert/strict';
import type { ListQuery, ListSort, NewEntry, SessionRecord, Store } from '../../../src/store/port/store.ts';
import { beforeAndAfter, range, refused, session, user } from '../kit.ts';
import type { StoreCase } from '../store-case.ts';

const SORTS: readonly ListSort[] = ['time', 'messages', 'tokens'];

export const listSortCases: readonly StoreCase[] = [
  {
    name: 'a list can be sorted by time, messages and tokens, both ways, in pages without gaps',
    promise: 'P9: users find what they look for',
    area: 'list',
    async run({ store, reopen }) {
      const ids = await uneven(store);
      const [gone = ''] = ids;
      await store.delete(gone);
      for await (const open of beforeAndAfter({ store, reopen })) {
        for (const status of ['open', 'any'] as const) {
          const all = (await open.list({ status, limit: 1000 })).sessions;
          assert.equal(all.length, status === 'any' ? ids.length : ids.length - 1);
          for (const sort of SORTS) {
            for (const order of ['desc', 'asc'] as const) {
              const expected = sorted(all, sort, order === 'asc').map(({ id }) => id);
              for (const limit of [1, 4, 100])
                assert.deepEqual(
                  await pages(open, { status, sort, order, limit }),
                  expected,
                  `${sort} ${order}, pages of ${limit}`,
                );
            }
          }
        }
      }
    },
  },
  {
    name: 'a session that grows moves up immediately in a list by messages or tokens',
    promise: 'P9: lists show the current state',
    area: 'list',
    async run({ store }) {
      const ids = await uneven(store);
      const last = (await pages(store, { sort: 'messages' })).at(-1) ?? '';
      await store.append(
        last,
        range(1, 20).map((i) => user(`more ${i}`)),
      );
      await store.append(last, [answer(1_000_000)]);
      for (const sort of ['messages', 'tokens'] as const) {
        assert.equal((await store.list({ sort, limit: 1 })).sessions[0]?.id, last);
        assert.equal((await pages(store, { sort, order: 'asc' })).at(-1), last);
        assert.equal((await pages(store, { sort })).length, ids.length);
      }
    },
  },
  {
    name: 'sorted lists can be filtered like others',
    promise: 'P9: users find what they look for',
    area: 'list',
    async run({ store }) {
      await uneven(store);
      const other = await session(store, ['one', 'two'], 'agent:other:main');
      const child = await store.create({ key: 'agent:other:subagent:x', parentId: other });
      for (const sort of SORTS) {
        assert.deepEqual(
          new Set(await pages(store, { sort, agentId: 'other' })),
          new Set([other, child.id]),
          sort,
        );
        assert.deepEqual(await pages(store, { sort, kind: 'subagent' }), [child.id]);
        assert.deepEqual(await pages(store, { sort, text: 'ONE', agentId: 'other' }), [other]);
      }
    },
  },
  {
    name: 'an unknown sort and a cursor of another sort are refused',
    promise: 'P2: a list never ends early without reporting it',
    area: 'list',
    async run({ store }) {
      await uneven(store);
      await refused(store.list({ sort: 'mood' as ListSort }), 'INVALID_INPUT');
      await refused(store.list({ order: 'up' as 'asc' }), 'INVALID_INPUT');
      for (const sort of SORTS) {
        const { cursor } = await store.list({ sort, limit: 2 });
        assert.ok(cursor !== null);
        for (const other of SORTS)
          if (other !== sort) await refused(store.list({ sort: other, cursor }), 'INVALID_INPUT');
      }
    },
  },
];

function answer(totalTokens: number): NewEntry {
  const usage = { input: totalTokens, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens };
  return { type: 'message', message: { role: 'assistant', content: [{ type: 'text', text: 'a' }], usage } };
}

/** Some sessions have equal counts, and the two sorts give different orders. */
async function uneven(store: Store): Promise<string[]> {
  const ids: string[] = [];
  for (const i of range(1, 11)) {
    const id = await session(
      store,
      range(1, (i * 5) % 4).map((n) => `text ${n}`),
    );
    if (i % 3 > 0) await store.append(id, [answer(((i * 7) % 5) * 1000)]);
    ids.push(id);
  }
  return ids;
}

async function pages(store: Store, query: ListQuery): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    assert.ok(ids.length < 100, 'a list has an end');
    const page = await store.list(cursor === '' ? query : { ...query, cursor });
    ids.push(...page.sessions.map(({ id }) => id));
    cursor = page.cursor;
  }
  return ids;
}

function sorted(all: readonly SessionRecord[], sort: ListSort, isAscending: boolean): SessionRecord[] {
  const weight = ({ lastAt, messageCount, tokenEstimate }: SessionRecord): number | string =>
    sort === 'time' ? lastAt : sort === 'messages' ? messageCount : tokenEstimate;
  const compare = (a: SessionRecord, b: SessionRecord): number => {
    const [left, right] = [weight(a), weight(b)];
    if (left !== right) return left < right ? -1 : 1;
    return a.id.toLowerCase() < b.id.toLowerCase() ? -1 : 1;
  };
  return all.toSorted((a, b) => (isAscending ? compare(a, b) : compare(b, a)));
}
