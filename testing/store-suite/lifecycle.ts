import assert from 'node:assert/strict';
import { RepriseError } from '../../src/errors.ts';
import type { Store } from '../../src/store/port/store.ts';
import { beforeAndAfter, failure, KEY, meanwhile, session, user, within } from './kit.ts';
import type { StoreCase } from './store-case.ts';

export const lifecycleCases: readonly StoreCase[] = [
  {
    name: 'a key leads to the session it was switched to',
    promise: 'P9: switching a key takes effect',
    area: 'lifecycle',
    async run({ store, reopen }) {
      const [one, two] = [await session(store), await session(store)];
      const other = await session(store, [], 'agent:other:main');
      for (const id of [one, two, one, two]) {
        const record = await store.activate(KEY, id);
        assert.deepEqual([record.id, record.active], [id, true]);
        assert.equal((await store.active(KEY))?.id, id);
      }
      assert.equal((await store.get(one)).active, false);
      await store.activate('agent:other:main', other);
      const reopened = await reopen();
      assert.equal((await reopened.active(KEY))?.id, two);
      assert.equal((await reopened.active('agent:other:main'))?.id, other);
      assert.equal(await reopened.active('agent:main:direct:nobody'), undefined);
      assert.deepEqual([(await reopened.get(one)).active, (await reopened.get(two)).active], [false, true]);
    },
  },
  {
    name: 'a healthy store verifies clean',
    promise: 'P3: damage is reported, and only damage',
    area: 'lifecycle',
    async run({ store, reopen }) {
      const id = await session(store, ['a', 'b']);
      const deleted = await session(store, ['c']);
      await store.patch(id, { model: 'm' });
      await store.inbox.receive({ sessionKey: KEY, source: 'cli', body: {} });
      await store.delete(deleted);
      const lease = await store.lease(id, { waitMs: 0 });
      await store.append(id, [user('d'), user('e')], { epoch: lease.epoch });
      await lease.release();
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.deepEqual(await open.verify(), { status: 'clean', findings: [] });
        assert.deepEqual(await open.verify(id), { status: 'clean', findings: [] });
      }
    },
  },
  {
    name: 'statistics count sessions and their bytes',
    promise: 'P9: size can be seen',
    area: 'lifecycle',
    async run({ store, reopen }) {
      assert.equal((await store.stats()).sessions, 0);
      const ids = [await session(store), await session(store), await session(store)];
      const before = await store.stats();
      assert.equal(before.sessions, 3);
      await store.append(ids[0] ?? '', [user('x'.repeat(100_000))]);
      assert.ok((await store.stats()).bytes >= before.bytes + 100_000);
      assert.equal((await (await reopen()).stats()).sessions, 3);
    },
  },
  {
    name: 'a store declares what it supports',
    promise: 'differences between stores are data, not missing methods',
    area: 'lifecycle',
    async run({ store }) {
      const { search, durability, shared, live } = store.supports;
      assert.ok(['scan', 'index'].includes(search));
      assert.ok(['none', 'os', 'disk'].includes(durability));
      assert.equal(typeof shared, 'boolean');
      assert.ok(['none', 'process', 'all'].includes(live));
    },
  },
  {
    name: 'a closed store refuses every call, and nothing hangs',
    promise: 'P4: never stuck',
    area: 'lifecycle',
    async run({ store }) {
      const id = await session(store, ['a']);
      const lease = await store.lease(id, { waitMs: 0 });
      const watched = store
        .watch(id, { afterSeq: 2, signal: new AbortController().signal })
        [Symbol.asyncIterator]();
      const listening = store.live(id, { signal: new AbortController().signal })[Symbol.asyncIterator]();
      const waiting = meanwhile(Promise.all([endOf(watched), endOf(listening)]));
      await within(store[Symbol.asyncDispose](), 'the store to close');
      for (const call of calls(store, id)) {
        const { code } = await failure(call());
        assert.ok(code === 'STORE_FAILED' || code === 'INVALID_INPUT', `${code} from a closed store`);
      }
      await within(waiting, 'the end of a watch and a listener on a closed store');
      const late = store.watch(id, { afterSeq: 0, signal: new AbortController().signal });
      await within(endOf(late[Symbol.asyncIterator]()), 'the end of a watch begun too late');
      const deaf = store.live(id, { signal: new AbortController().signal });
      await within(endOf(deaf[Symbol.asyncIterator]()), 'the end of a listener begun too late');
      await within(Promise.allSettled([lease.renew(), lease.release()]), 'a lease of a closed store');
      await within(store[Symbol.asyncDispose](), 'the store to close again');
    },
  },
  {
    name: 'closing waits for running calls, and every answer it gives is true',
    promise: 'P1, P2: an acknowledged write is stored, also while closing',
    area: 'lifecycle',
    async run({ store, reopen }) {
      const id = await session(store);
      const tries = Array.from({ length: 20 }, (_, i) => store.append(id, [user(`${i}`)], { key: `k${i}` }));
      const settled = Promise.allSettled(tries);
      const reopened = await reopen();
      for (const [i, result] of (await within(settled, 'every answer')).entries()) {
        const retried = await reopened.append(id, [user(`${i}`)], { key: `k${i}` });
        if (result.status === 'fulfilled') assert.deepEqual(retried, result.value);
        else assert.ok(result.reason instanceof RepriseError, 'a refusal has a code');
      }
      assert.equal((await reopened.get(id)).lastSeq, 21);
    },
  },
];

/** A watch may end or reject when its store closes, but it must not wait forever. */
async function endOf(watched: AsyncIterator<unknown>): Promise<void> {
  const [end] = await Promise.allSettled([watched.next()]);
  if (end.status === 'fulfilled') assert.equal(end.value.done, true);
  else assert.ok(end.reason instanceof RepriseError, 'a refusal has a code');
}

function calls(store: Store, id: string): readonly (() => Promise<unknown>)[] {
  const { inbox } = store;
  return [
    () => store.create({ key: KEY }),
    () => store.get(id),
    () => store.active(KEY),
    () => store.activate(KEY, id),
    () => store.list(),
    () => store.append(id, [user('b')]),
    () => store.tail(id),
    () => store.read(id),
    () => store.publish(id, { delta: 'a' }),
    () => store.lease(id, { waitMs: 0 }),
    () => store.leases(),
    () => inbox.receive({ sessionKey: KEY, source: 'cli', body: {} }),
    () => inbox.take(id, { epoch: 1 }),
    () => inbox.settle('x', 'done'),
    () => inbox.get('x'),
    () => inbox.pending(),
    () => inbox.known({ sessionKey: KEY, source: 'cli', idempotencyKey: 'x' }),
    () => store.patch(id, { a: 1 }),
    () => store.delete(id),
    () => store.restore(id),
    () => store.purge(id),
    () => store.search({ text: 'a' }),
    () => store.verify(),
    () => store.stats(),
    () => store.exportSession(id),
  ];
}
