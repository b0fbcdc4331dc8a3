import assert from 'node:assert/strict';
import type { Store, StoredEntry } from '../../src/store/port/store.ts';
import { isEntry, range, readAll, session, textOf, user } from './kit.ts';
import type { StoreCase } from './store-case.ts';

const LIMITS = [1, 2, 3, 7, 10, 11, 100];

export const readCases: readonly StoreCase[] = [
  {
    name: 'reading forward in pages of any size returns every line once',
    promise: 'P3: the whole history can be read',
    area: 'read',
    async run({ store }) {
      const id = await session(store, range(1, 10).map(String));
      for (const limit of LIMITS) {
        const all = await readAll(store, id, limit);
        assert.deepEqual(
          all.map(({ seq }) => seq),
          range(1, 11),
          `pages of ${limit}`,
        );
        assert.equal(all[0]?.entry.type, 'session');
        assert.deepEqual(texts(all), range(1, 10).map(String));
      }
      const middle = await store.read(id, { from: 4, limit: 3 });
      assert.deepEqual(
        middle.entries.map(({ seq }) => seq),
        [4, 5, 6],
      );
      assert.deepEqual([middle.lastSeq, middle.hasMore], [11, true]);
      const end = await store.read(id, { from: 9, limit: 3 });
      assert.deepEqual(
        end.entries.map(({ seq }) => seq),
        [9, 10, 11],
      );
      assert.deepEqual([end.lastSeq, end.hasMore], [11, false]);
    },
  },
  {
    name: 'reading backward in pages of any size returns every line once, the last one first',
    promise: 'P3: the whole history can be read',
    area: 'read',
    async run({ store }) {
      const id = await session(store, range(1, 10).map(String));
      for (const limit of LIMITS) {
        const all = await readBack(store, id, limit);
        assert.deepEqual(
          all.map(({ seq }) => seq),
          range(1, 11).reverse(),
          `pages of ${limit}`,
        );
        assert.deepEqual(texts(all), range(1, 10).map(String).reverse());
      }
      const middle = await store.read(id, { from: 6, limit: 3, direction: 'backward' });
      assert.deepEqual(
        middle.entries.map(({ seq }) => seq),
        [6, 5, 4],
      );
      assert.deepEqual([middle.lastSeq, middle.hasMore], [11, true]);
      const start = await store.read(id, { from: 3, limit: 3, direction: 'backward' });
      assert.deepEqual(
        start.entries.map(({ seq }) => seq),
        [3, 2, 1],
      );
      assert.deepEqual([start.lastSeq, start.hasMore], [11, false]);
    },
  },
  {
    name: 'reading after the end returns an empty page with the last seq',
    promise: 'P3: a reader can see that it is up to date',
    area: 'read',
    async run({ store }) {
      const id = await session(store, ['a', 'b']);
      for (const from of [4, 5, 1000]) {
        assert.deepEqual(await store.read(id, { from, limit: 5 }), {
          entries: [],
          lastSeq: 3,
          hasMore: false,
        });
      }
    },
  },
  {
    name: 'a session with only a header is read as its header',
    promise: 'P3: the whole history can be read',
    area: 'read',
    async run({ store }) {
      const id = await session(store);
      for (const direction of ['forward', 'backward'] as const) {
        const page = await store.read(id, { direction, limit: 5 });
        assert.deepEqual(
          page.entries.map(({ seq, entry }) => [seq, entry.type]),
          [[1, 'session']],
        );
        assert.deepEqual([page.lastSeq, page.hasMore], [1, false]);
      }
    },
  },
  {
    name: 'an acknowledged append can be read immediately',
    promise: 'P1: acknowledged entries are stored',
    area: 'read',
    async run({ store }) {
      const id = await session(store);
      for (const i of range(1, 20)) {
        const { lastSeq } = await store.append(id, [user(`${i}`)]);
        const page = await store.read(id, { direction: 'backward', limit: 1 });
        assert.deepEqual([page.entries[0]?.seq, page.lastSeq], [lastSeq, lastSeq]);
        assert.equal((await store.tail(id)).entries.at(-1)?.seq, lastSeq);
        assert.equal((await store.get(id)).lastSeq, lastSeq);
      }
    },
  },
];

async function readBack(store: Store, id: string, limit: number): Promise<StoredEntry[]> {
  const all: StoredEntry[] = [];
  for (let from: number | undefined, more = true; more; ) {
    const page = await store.read(id, { limit, direction: 'backward', ...(from !== undefined && { from }) });
    all.push(...page.entries);
    more = page.hasMore;
    const last = page.entries.at(-1)?.seq ?? 0;
    if (more) assert.ok(last > 1 && last < (from ?? Number.POSITIVE_INFINITY) + 1, 'a page moves on');
    from = last - 1;
  }
  return all;
}

function texts(stored: readonly StoredEntry[]): unknown[] {
  return stored.flatMap(({ entry }) => (isEntry(entry) ? [textOf(entry)] : []));
}
