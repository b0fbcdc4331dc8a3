import assert from 'node:assert/strict';
import type { Store, StoredEntry } from '../../src/store/port/store.ts';
import { meanwhile, note, range, readAll, refused, session, user, within } from './kit.ts';
import type { StoreCase } from './store-case.ts';

export const watchCases: readonly StoreCase[] = [
  {
    name: 'a watcher gets existing and new entries, in order and once',
    promise: 'P9: all clients see the same conversation',
    area: 'watch',
    async run({ store }) {
      const id = await session(store, ['a', 'b', 'c']);
      using watcher = watch(store, id, 1);
      await watcher.expect([2, 3, 4]);
      await store.append(id, [user('d'), note('n')]);
      await watcher.expect([5, 6]);
      await Promise.all(range(1, 30).map((i) => store.append(id, [user(`${i}`)])));
      await watcher.expect(range(7, 36));
    },
  },
  {
    name: 'a watcher gets the entries as they are stored',
    promise: 'P1: watchers get what is stored',
    area: 'watch',
    async run({ store }) {
      const id = await session(store, ['a']);
      using watcher = watch(store, id, 1);
      await store.append(id, [user('b \ud800 \u0000'), note('n', { deep: [{ x: 1 }] })]);
      const seen = await watcher.expect([2, 3, 4]);
      assert.deepEqual(seen, (await readAll(store, id)).slice(1));
    },
  },
  {
    name: 'a watcher starts after the seq it names',
    promise: 'P9: a disconnected reader misses nothing and sees nothing twice',
    area: 'watch',
    async run({ store }) {
      const id = await session(store, range(1, 9).map(String));
      using watcher = watch(store, id, 6);
      await watcher.expect([7, 8, 9, 10]);
      using late = watch(store, id, 10);
      await store.append(id, [user('new')]);
      await late.expect([11]);
    },
  },
  {
    name: 'a watcher misses nothing appended before its first read',
    promise: 'P9: no entry is lost between existing and new ones',
    area: 'watch',
    async run({ store }) {
      const id = await session(store, ['a']);
      using watcher = watch(store, id, 1);
      await store.append(id, [user('b')]);
      const first = meanwhile(watcher.expect([2]));
      await store.append(id, [user('c')]);
      await first;
      await store.append(id, [user('d')]);
      await watcher.expect([3, 4, 5]);
    },
  },
  {
    name: 'several watchers of one session each see everything',
    promise: 'P9: all clients see the same conversation',
    area: 'watch',
    async run({ store }) {
      const [id, other] = [await session(store), await session(store)];
      using one = watch(store, id, 1);
      using two = watch(store, id, 1);
      const waiting = [one, two].map((watcher) => meanwhile(watcher.expect(range(2, 6))));
      for (const i of range(1, 5)) {
        await store.append(other, [user('elsewhere')]);
        await store.append(id, [user(`${i}`)]);
      }
      await Promise.all(waiting);
    },
  },
  {
    name: 'a refused append is not shown to a watcher',
    promise: 'P2: a refused append is never visible',
    area: 'watch',
    async run({ store }) {
      const id = await session(store, ['a']);
      using watcher = watch(store, id, 2);
      const seen = meanwhile(watcher.expect([3]));
      await refused(store.append(id, [user('no')], { expectedLeaf: null }), 'LEAF_MOVED');
      await refused(store.append(id, [user('no'), { type: 'x', bad: Number.NaN }]), 'INVALID_INPUT');
      await store.append(id, [user('yes')], { key: 'k' });
      await store.append(id, [user('yes')], { key: 'k' });
      await store.append(id, [user('and')]);
      const all = (await readAll(store, id)).slice(2);
      assert.deepEqual([...(await seen), ...(await watcher.expect([4]))], all);
    },
  },
  {
    name: 'a watcher ends when its signal aborts',
    promise: 'P4: nothing hangs',
    area: 'watch',
    async run({ store }) {
      const id = await session(store, ['a']);
      const watcher = watch(store, id, 1);
      await watcher.expect([2]);
      const next = meanwhile(watcher.next());
      watcher[Symbol.dispose]();
      assert.equal((await within(next, 'the end of a watch')).done, true);
      const dead = store.watch(id, { afterSeq: 1, signal: AbortSignal.abort() })[Symbol.asyncIterator]();
      assert.equal(
        (await within(dead.next(), 'the end of a watch that was over before it began')).done,
        true,
      );
      await store.append(id, [user('b')]);
    },
  },
  {
    name: 'leaving the loop ends a watch',
    promise: 'P4: nothing hangs',
    area: 'watch',
    async run({ store }) {
      const id = await session(store, ['a', 'b']);
      const { signal } = new AbortController();
      const work = async (): Promise<number> => {
        for await (const { seq } of store.watch(id, { afterSeq: 1, signal })) return seq;
        return 0;
      };
      assert.equal(await within(work(), 'the loop to be left'), 2);
      await store.append(id, [user('c')]);
    },
  },
];

interface Watcher extends Disposable {
  /** Expects the next entries to have these seqs: a wrong one fails at once, a missing one after the limit. */
  expect(seqs: readonly number[]): Promise<StoredEntry[]>;
  next(): Promise<IteratorResult<StoredEntry>>;
}

function watch(store: Store, id: string, afterSeq: number): Watcher {
  const stop = new AbortController();
  const entries = store.watch(id, { afterSeq, signal: stop.signal })[Symbol.asyncIterator]();
  return {
    next: () => entries.next(),
    async expect(seqs) {
      const taken: StoredEntry[] = [];
      for (const seq of seqs) {
        const step = await within(entries.next(), `seq ${seq} on a watch`);
        assert.ok(step.done !== true, 'a watch continues until its signal aborts');
        assert.equal(step.value.seq, seq);
        taken.push(step.value);
      }
      return taken;
    },
    [Symbol.dispose]: () => stop.abort(),
  };
}
