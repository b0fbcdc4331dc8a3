import assert from 'node:assert/strict';
import type { ChangeOptions, Store } from '../../src/store/port/store.ts';
import { KEY, readEntries, refused, session, user } from './kit.ts';
import type { StoreCase } from './store-case.ts';

type Change = readonly [name: string, change: (id: string, options: ChangeOptions) => Promise<unknown>];

const changesOf = (store: Store): readonly Change[] => [
  ['patch', (id, options) => store.patch(id, { a: 1 }, options)],
  ['delete', (id, options) => store.delete(id, options)],
  ['restore', (id, options) => store.restore(id, options)],
  ['purge', (id, options) => store.purge(id, options)],
];

export const seenCases: readonly StoreCase[] = [
  {
    name: 'a change with a precondition succeeds, or is refused if the session has changed',
    promise: 'P2: a change is done, or certainly not',
    area: 'lifecycle',
    async run({ store }) {
      const id = await session(store, ['a']);
      for (const [name, change] of changesOf(store)) {
        if (name === 'restore') await store.delete(id);
        if (name === 'purge') await store.delete(id);
        const seen = await store.get(id);
        for (const ifSeen of [
          { ...seen, lastSeq: seen.lastSeq - 1 },
          { ...seen, active: !seen.active },
          { ...seen, status: seen.status === 'open' ? ('deleted' as const) : ('open' as const) },
        ])
          await refused(change(id, { ifSeen }), 'PRECONDITION_FAILED');
        assert.deepEqual(await store.get(id), seen, `${name} that was refused changes nothing`);
        await change(id, { ifSeen: seen });
        if (name === 'delete') await store.restore(id);
      }
      await refused(store.get(id), 'GONE');
    },
  },
  {
    name: 'of several callers with the same precondition, one succeeds',
    promise: 'P2: no write comes between the check and the change',
    area: 'lifecycle',
    async run({ store }) {
      const id = await session(store, ['a']);
      const seen = await store.get(id);
      const tries = await Promise.allSettled(
        Array.from({ length: 8 }, (_, i) =>
          i === 5 ? store.delete(id, { ifSeen: seen }) : store.patch(id, { by: i }, { ifSeen: seen }),
        ),
      );
      assert.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const tried of tries)
        if (tried.status === 'rejected') await refused(Promise.reject(tried.reason), 'PRECONDITION_FAILED');
      assert.equal((await store.get(id)).lastSeq, seen.lastSeq + 1);
    },
  },
  {
    name: 'a precondition fails after a new entry, and after another session takes the key',
    promise: 'P9: a decision is based on the state that was shown',
    area: 'lifecycle',
    async run({ store }) {
      const [one, other] = [await session(store), await session(store)];
      await store.activate(KEY, one);
      const first = await store.get(one);
      await store.append(one, [user('a')]);
      await refused(store.patch(one, { a: 1 }, { ifSeen: first }), 'PRECONDITION_FAILED');
      const second = await store.get(one);
      await store.activate(KEY, other);
      await refused(store.delete(one, { ifSeen: second }), 'PRECONDITION_FAILED');
      await store.delete(one, { ifSeen: await store.get(one) });
      assert.equal((await store.active(KEY))?.id, other);
    },
  },
  {
    name: 'a title and settings are one change, and a title alone is one line',
    promise: 'P2: a patch is atomic',
    area: 'lifecycle',
    async run({ store, reopen }) {
      const id = await session(store, ['the first message']);
      const before = await store.get(id);
      const both = await store.patch(id, { model: 'm' }, { title: 'A name' });
      assert.deepEqual([both.title, both.settings], ['A name', { model: 'm' }]);
      assert.equal(both.lastSeq, before.lastSeq + 2);
      const alone = await store.patch(id, {}, { title: 'Another' });
      assert.deepEqual([alone.title, alone.settings], ['Another', { model: 'm' }]);
      assert.equal(alone.lastSeq, both.lastSeq + 1);
      assert.equal(alone.leaf, before.leaf);
      await refused(store.patch(id, { a: Number.NaN }, { title: 'never' }), 'INVALID_INPUT');
      await refused(store.patch(id, {}, { title: 7 as unknown as string }), 'INVALID_INPUT');
      const reopened = await reopen();
      assert.deepEqual(await reopened.get(id), alone);
      const names = (await readEntries(reopened, id)).filter(({ type }) => type === 'session_info');
      assert.equal(names.length, 2);
    },
  },
];
