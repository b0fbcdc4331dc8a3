import assert from 'node:assert/strict';
import { beforeAndAfter, bodyOf, KEY, readAll, readEntries, refused, session, textOf, user } from './kit.ts';
import type { StoreCase } from './store-case.ts';

const BOB = 'agent:main:direct:bob';

export const deleteCases: readonly StoreCase[] = [
  {
    name: 'a deleted session is refused writes and stays readable',
    promise: 'P3: delete writes a tombstone and destroys nothing',
    area: 'lifecycle',
    async run({ store, reopen }) {
      const id = await session(store, ['a', 'b']);
      const before = await readEntries(store, id);
      assert.equal((await store.delete(id)).status, 'deleted');
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.equal((await open.get(id)).status, 'deleted');
        await refused(open.append(id, [user('c')]), 'SESSION_DELETED');
        await refused(open.append(id, [{ type: 'usage', input: 1 }]), 'SESSION_DELETED');
        const entries = await readEntries(open, id);
        assert.deepEqual(entries.slice(0, 2), before);
        assert.deepEqual(
          entries.slice(2).map((entry) => bodyOf(entry)['customType']),
          ['reprise.deleted'],
        );
        assert.deepEqual((await open.list()).sessions, []);
        assert.deepEqual(
          (await open.list({ status: 'deleted' })).sessions.map((record) => record.id),
          [id],
        );
      }
    },
  },
  {
    name: 'a key of a deleted session has no active session',
    promise: 'P3, P9: a deleted session no longer answers',
    area: 'lifecycle',
    async run({ store, reopen }) {
      const { sessionId: id } = await store.inbox.receive({ sessionKey: BOB, source: 'cli', body: {} });
      assert.equal((await store.active(BOB))?.id, id);
      const record = await store.delete(id);
      assert.equal(record.active, false);
      assert.equal(await store.active(BOB), undefined);
      const reopened = await reopen();
      assert.equal(await reopened.active(BOB), undefined);
      const next = await reopened.inbox.receive({ sessionKey: BOB, source: 'cli', body: {} });
      assert.notEqual(next.sessionId, id);
    },
  },
  {
    name: 'a message for the key of a deleted session starts a new one',
    promise: 'P6: an accepted message always has a session',
    area: 'lifecycle',
    async run({ store }) {
      const old = await session(store);
      await store.activate(KEY, old);
      await store.delete(old);
      const { sessionId } = await store.inbox.receive({ sessionKey: KEY, source: 'test', body: {} });
      assert.notEqual(sessionId, old);
      assert.equal((await store.get(sessionId)).active, true);
      assert.equal((await store.inbox.pending(sessionId)).length, 1);
    },
  },
  {
    name: 'deleting a session that is not active leaves its key alone',
    promise: 'P3: delete affects only the named session',
    area: 'lifecycle',
    async run({ store }) {
      const [old, current] = [await session(store), await session(store)];
      await store.activate(KEY, current);
      await store.delete(old);
      assert.equal((await store.active(KEY))?.id, current);
      assert.equal((await store.get(current)).status, 'open');
    },
  },
  {
    name: 'messages waiting for a deleted session are cancelled with a reason',
    promise: 'P6: accepted input runs, or its sender learns why not',
    area: 'lifecycle',
    async run({ store }) {
      const message = { sessionKey: BOB, source: 'cli', body: {} };
      const first = await store.inbox.receive(message);
      const second = await store.inbox.receive(message);
      const done = await store.inbox.receive(message);
      await store.inbox.settle(done.inboxId, 'done');
      const lease = await store.lease(first.sessionId, { waitMs: 0 });
      await store.inbox.take(first.sessionId, lease);
      await store.delete(first.sessionId);
      for (const { inboxId } of [first, second]) {
        const item = await store.inbox.get(inboxId);
        assert.equal(item.state, 'cancelled');
        assert.ok(item.detail !== undefined && Object.keys(item.detail).length > 0, 'a reason');
      }
      assert.equal((await store.inbox.get(done.inboxId)).state, 'done');
      assert.deepEqual(await store.inbox.pending(), []);
    },
  },
  {
    name: 'a restored session continues where it was',
    promise: 'P3, P9: everything has an undo',
    area: 'lifecycle',
    async run({ store, reopen }) {
      const id = await session(store, ['a', 'b']);
      const { leaf } = await store.get(id);
      await store.delete(id);
      const record = await store.restore(id);
      assert.equal(record.status, 'open');
      assert.equal(record.leaf, leaf);
      const { firstSeq } = await store.append(id, [user('c')], { expectedLeaf: leaf });
      assert.equal(firstSeq, record.lastSeq + 1);
      const reopened = await reopen();
      assert.equal((await reopened.get(id)).status, 'open');
      assert.deepEqual(
        (await reopened.list()).sessions.map((listed) => listed.id),
        [id],
      );
      const texts = (await readEntries(reopened, id)).map(textOf).filter((text) => text !== undefined);
      assert.deepEqual(texts, ['a', 'b', 'c']);
    },
  },
  {
    name: 'a restored session does not take its key from another',
    promise: 'P9: an undo changes nothing else',
    area: 'lifecycle',
    async run({ store }) {
      const old = await session(store);
      await store.activate(KEY, old);
      await store.delete(old);
      const current = await session(store);
      await store.activate(KEY, current);
      assert.equal((await store.restore(old)).active, false);
      assert.equal((await store.active(KEY))?.id, current);
      assert.equal((await store.get(old)).active, false);
    },
  },
  {
    name: 'only a deleted session can be purged',
    promise: 'P3: only purge destroys data, and only of deleted sessions',
    area: 'lifecycle',
    async run({ store }) {
      const id = await session(store, ['a']);
      await refused(store.purge(id), 'INVALID_INPUT');
      assert.equal((await readAll(store, id)).length, 2);
      await store.delete(id);
      await store.restore(id);
      await refused(store.purge(id), 'INVALID_INPUT');
      await store.append(id, [user('b')]);
    },
  },
  {
    name: 'a purged session is gone permanently, and its id stays taken',
    promise: 'P3: a purged session is never mistaken for a new one',
    area: 'lifecycle',
    async run({ store, reopen }) {
      await store.create({ id: 'Burnt', key: KEY });
      await store.append('Burnt', [user('a uniquely burnt word')]);
      const kept = await session(store, ['kept']);
      await store.delete('Burnt');
      await store.purge('Burnt');
      for await (const open of beforeAndAfter({ store, reopen })) {
        await refused(open.get('Burnt'), 'GONE');
        await refused(open.read('Burnt'), 'GONE');
        await refused(open.tail('Burnt'), 'GONE');
        await refused(open.append('Burnt', [user('b')]), 'GONE');
        await refused(open.restore('Burnt'), 'GONE');
        await refused(open.exportSession('Burnt'), 'GONE');
        await refused(open.create({ id: 'Burnt', key: KEY }), 'GONE');
        await refused(open.create({ id: 'burnt', key: KEY }), 'GONE');
        assert.deepEqual(
          (await open.list({ status: 'any' })).sessions.map(({ id }) => id),
          [kept],
        );
        assert.deepEqual((await open.search({ text: 'uniquely burnt' })).hits, []);
        assert.equal((await open.verify()).status, 'clean');
      }
    },
  },
];
