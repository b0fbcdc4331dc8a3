import assert from 'node:assert/strict';
import {
  assistant,
  entryAt,
  KEY,
  range,
  readAll,
  readEntries,
  refused,
  session,
  textOf,
  user,
} from './kit.ts';
import type { StoreCase } from './store-case.ts';

export const keyCases: readonly StoreCase[] = [
  {
    name: 'a repeated key and body returns the same seqs, and nothing is written twice',
    promise: 'P1, P2: exactly once per idempotency key',
    area: 'keys',
    async run({ store }) {
      const id = await session(store);
      const body = [user('once'), assistant('only')];
      const first = await store.append(id, body, { key: 'k1' });
      await store.append(id, [user('later')]);
      assert.deepEqual(await store.append(id, body, { key: 'k1' }), first);
      assert.deepEqual((await readEntries(store, id)).map(textOf).length, 3);
      const other = await store.append(id, body, { key: 'k2' });
      assert.deepEqual(other, { firstSeq: 5, lastSeq: 6 });
    },
  },
  {
    name: 'concurrent retries write once',
    promise: 'P1, P2: exactly once per idempotency key',
    area: 'keys',
    async run({ store }) {
      const id = await session(store);
      const tries = range(1, 10).map(() => store.append(id, [user('once')], { key: 'same' }));
      for (const receipt of await Promise.all(tries)) assert.deepEqual(receipt, { firstSeq: 2, lastSeq: 2 });
      assert.equal((await readAll(store, id)).length, 2);
    },
  },
  {
    name: 'a key is still known after closing and reopening the store',
    promise: 'P2: unknown can be retried, also by the next process',
    area: 'keys',
    async run({ store, reopen }) {
      const id = await session(store, ['before']);
      const first = await store.append(id, [user('once')], { key: 'k' });
      const reopened = await reopen();
      assert.deepEqual(await reopened.append(id, [user('once')], { key: 'k' }), first);
      await refused(reopened.append(id, [user('other')], { key: 'k' }), 'KEY_REUSED');
      assert.equal((await readAll(reopened, id)).length, 3);
    },
  },
  {
    name: 'a known key with a different body is refused',
    promise: 'P2: a retry is the same request',
    area: 'keys',
    async run({ store }) {
      const id = await session(store);
      const { firstSeq } = await store.append(id, [user('first')], { key: 'k' });
      await refused(store.append(id, [user('second')], { key: 'k' }), 'KEY_REUSED');
      await refused(store.append(id, [user('first'), user('second')], { key: 'k' }), 'KEY_REUSED');
      assert.equal(textOf(await entryAt(store, id, firstSeq)), 'first');
      assert.equal((await readAll(store, id)).length, 2);
    },
  },
  {
    name: 'a retry of a successful append is answered even if the leaf has moved',
    promise: 'P2: the key is checked before the leaf',
    area: 'keys',
    async run({ store }) {
      const id = await session(store, ['a']);
      const { leaf } = await store.get(id);
      const options = { key: 'k', expectedLeaf: leaf };
      const first = await store.append(id, [user('b')], options);
      // The success of the first call moved the leaf.
      assert.deepEqual(await store.append(id, [user('b')], options), first);
      await store.append(id, [user('c')]);
      assert.deepEqual(await store.append(id, [user('b')], options), first);
      assert.deepEqual((await readEntries(store, id)).map(textOf), ['a', 'b', 'c']);
    },
  },
  {
    name: 'an activation under a key happens once, even if another session has the session key by then',
    promise: 'P2: a retry changes nothing, also in the next process',
    area: 'keys',
    async run({ store, reopen }) {
      const [first, second] = [await session(store), await session(store)];
      await store.activate(KEY, second);
      assert.equal((await store.activate(KEY, first, { reason: 'undo', key: 'k' })).active, true);
      await store.activate(KEY, second);
      const lines = (await readAll(store, first)).length;
      for (const next of [async () => store, reopen]) {
        const open = await next();
        assert.equal((await open.activate(KEY, first, { reason: 'undo', key: 'k' })).active, false);
        assert.equal((await open.active(KEY))?.id, second);
        assert.equal((await readAll(open, first)).length, lines);
        // An append of the session has the same key.
        await refused(open.append(first, [user('other')], { key: 'k' }), 'KEY_REUSED');
      }
    },
  },
  {
    name: 'a retry of a successful append is answered even if another holder took over',
    promise: 'P2, P5: the key is checked before the epoch',
    area: 'keys',
    async run({ store, reopen }) {
      const id = await session(store, ['a']);
      const lease = await store.lease(id, { waitMs: 0 });
      const options = { key: 'k', epoch: lease.epoch };
      const first = await store.append(id, [user('b')], options);
      assert.equal(await lease.release(), null);
      const next = await store.lease(id, { waitMs: 0 });
      assert.deepEqual(await store.append(id, [user('b')], options), first);
      await refused(store.append(id, [user('c')], { key: 'other', epoch: lease.epoch }), 'FENCED');
      await next.release();
      assert.deepEqual(await (await reopen()).append(id, [user('b')], options), first);
    },
  },
  {
    name: 'the checks come in order: key, tombstone, epoch, leaf',
    promise: 'P2: the answer to a retry does not depend on what happened since',
    area: 'keys',
    async run({ store }) {
      const id = await session(store, ['a']);
      const lease = await store.lease(id, { waitMs: 0 });
      const first = await store.append(id, [user('b')], { key: 'k', epoch: lease.epoch });
      await lease.release();
      const holder = await store.lease(id, { waitMs: 0 });
      const stale = { epoch: lease.epoch, expectedLeaf: 'ffffffff' };
      await refused(store.append(id, [user('c')], { key: 'k', ...stale }), 'KEY_REUSED');
      await refused(store.append(id, [user('c')], { key: 'n', ...stale }), 'FENCED');
      await refused(
        store.append(id, [user('c')], { epoch: holder.epoch, expectedLeaf: 'ffffffff' }),
        'LEAF_MOVED',
      );
      await store.delete(id);
      await refused(store.append(id, [user('c')], { key: 'n', ...stale }), 'SESSION_DELETED');
      await refused(store.append(id, [user('c')], { key: 'k', ...stale }), 'KEY_REUSED');
      assert.deepEqual(await store.append(id, [user('b')], { key: 'k', ...stale }), first);
    },
  },
  {
    name: 'a key belongs to its session',
    promise: 'P8: sessions do not see each other',
    area: 'keys',
    async run({ store }) {
      const [one, two] = [await session(store), await session(store)];
      await store.append(one, [user('in one')], { key: 'k' });
      await store.append(two, [user('in two')], { key: 'k' });
      assert.deepEqual((await readEntries(store, one)).map(textOf), ['in one']);
      assert.deepEqual((await readEntries(store, two)).map(textOf), ['in two']);
    },
  },
  {
    name: 'a key with a lone surrogate is refused, because databases would make different keys equal',
    promise: 'P2: a key identifies one request',
    area: 'keys',
    async run({ store }) {
      const id = await session(store);
      for (const key of ['\ud800', 'a\udfff']) {
        await refused(store.append(id, [user('x')], { key }), 'INVALID_INPUT');
        await refused(store.activate(KEY, id, { key }), 'INVALID_INPUT');
        const message = { sessionKey: KEY, source: 'http', body: { text: 'x' } };
        await refused(store.inbox.receive({ ...message, idempotencyKey: key }), 'INVALID_INPUT');
        await refused(store.inbox.receive({ ...message, source: key }), 'INVALID_INPUT');
      }
      assert.deepEqual(await readEntries(store, id), []);
    },
  },
  {
    name: 'any text may be a key',
    promise: 'P2: the caller chooses its keys',
    area: 'keys',
    async run({ store, reopen }) {
      const id = await session(store);
      const keys = ['__proto__', 'constructor', '"', "'; --", 'ключ', '😀', 'a', 'A', ' a'];
      for (const key of keys) await store.append(id, [user(key)], { key });
      const reopened = await reopen();
      for (const [i, key] of keys.entries()) {
        assert.deepEqual(await reopened.append(id, [user(key)], { key }), {
          firstSeq: i + 2,
          lastSeq: i + 2,
        });
      }
    },
  },
];
