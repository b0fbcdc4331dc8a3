import assert from 'node:assert/strict';
import type { InboxState } from '../../../src/store/port/inbox.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { beforeAndAfter, range, refused } from '../kit.ts';
import type { StoreCase } from '../store-case.ts';

const BOB = 'agent:main:telegram:direct:bob';
const FINAL: readonly InboxState[] = ['done', 'failed', 'cancelled', 'merged', 'dropped', 'interrupted'];

export const runCases: readonly StoreCase[] = [
  {
    name: 'accepted messages are taken oldest first, each once',
    promise: 'P6: accepted input runs, in order, once',
    area: 'inbox',
    async run({ store }) {
      const ids = await put(store, 5);
      const id = await sessionOf(store, ids[0]);
      const lease = await store.lease(id, { waitMs: 0 });
      const taken: string[] = [];
      for (
        let item = await store.inbox.take(id, lease);
        item !== null;
        item = await store.inbox.take(id, lease)
      ) {
        assert.equal(item.state, 'running');
        assert.equal(item.attempts, 1);
        assert.equal(item.sessionId, id);
        assert.equal(item.sessionKey, BOB);
        assert.deepEqual(item.body, { n: taken.length + 1 });
        taken.push(item.inboxId);
      }
      assert.deepEqual(taken, ids);
      for (const inboxId of taken) await store.inbox.settle(inboxId, 'done');
      await lease.release();
    },
  },
  {
    name: 'concurrent takers never get the same message',
    promise: 'P6: a message runs once',
    area: 'inbox',
    async run({ store }) {
      const ids = await put(store, 6);
      const id = await sessionOf(store, ids[0]);
      const lease = await store.lease(id, { waitMs: 0 });
      const taken = await Promise.all(range(1, 10).map(() => store.inbox.take(id, lease)));
      const got = taken.flatMap((item) => (item === null ? [] : [item.inboxId]));
      assert.deepEqual(got.sort(), [...ids].sort());
    },
  },
  {
    name: 'a message that waits for a person rests until it is taken by its id',
    promise: 'P6: accepted input runs, also after a long wait',
    area: 'inbox',
    async run({ store, reopen }) {
      const [first = '', second] = await put(store, 2);
      const id = await sessionOf(store, first);
      const lease = await store.lease(id, { waitMs: 0 });
      for (const orphans of [false, true]) await store.inbox.take(id, { epoch: lease.epoch, orphans });
      await store.inbox.settle(first, 'waiting', { call: 'c1' });
      assert.deepEqual(
        (await store.inbox.pending(id)).map(({ inboxId, state }) => [inboxId, state]),
        [
          [first, 'waiting'],
          [second, 'accepted'],
        ],
      );
      assert.equal((await lease.release())?.inboxId, second, 'only the accepted one holds the lease');
      assert.equal((await store.inbox.take(id, { epoch: lease.epoch, orphans: true }))?.inboxId, second);
      await store.inbox.settle(second ?? '', 'done');
      assert.equal(await lease.release(), null, 'what waits for a person needs no lease');
      const reopened = await reopen();
      const waiting = await reopened.inbox.get(first);
      assert.deepEqual([waiting.state, waiting.attempts, waiting.detail], ['waiting', 0, { call: 'c1' }]);
      const { epoch } = await reopened.lease(id, { waitMs: 0 });
      assert.equal(await reopened.inbox.take(id, { epoch, orphans: true }), null);
      const taken = await reopened.inbox.take(id, { epoch, inboxId: first });
      assert.deepEqual([taken?.state, taken?.attempts], ['running', 1]);
      await reopened.inbox.settle(first, 'done');
      assert.deepEqual(await reopened.inbox.pending(id), []);
    },
  },
  {
    name: 'a message left running is taken by the next runner before newer ones',
    promise: 'P6: accepted input runs, even after its runner died',
    area: 'inbox',
    async run({ store }) {
      const ids = await put(store, 3);
      const id = await sessionOf(store, ids[0]);
      const { epoch } = await store.lease(id, { waitMs: 0 });
      assert.equal((await store.inbox.take(id, { epoch }))?.inboxId, ids[0]);
      const found = await store.inbox.take(id, { epoch, orphans: true });
      assert.equal(found?.inboxId, ids[0]);
      assert.equal(found?.attempts, 2, 'every attempt counts');
      await store.inbox.settle(ids[0] ?? '', 'interrupted');
      assert.equal((await store.inbox.take(id, { epoch, orphans: true }))?.inboxId, ids[1]);
      assert.equal((await store.inbox.take(id, { epoch }))?.inboxId, ids[2]);
      assert.equal(await store.inbox.take(id, { epoch }), null);
    },
  },
  {
    name: 'only the lease holder can uncount an attempt that could not begin, and the message keeps its place',
    promise: 'P6: only a message that crashes repeatedly is given up',
    area: 'inbox',
    async run({ store, reopen }) {
      const [first = '', second = ''] = await put(store, 2);
      const id = await sessionOf(store, first);
      const { epoch } = await store.lease(id, { waitMs: 0 });
      await store.inbox.take(id, { epoch });
      await store.inbox.take(id, { epoch, orphans: true });
      const attempts = 1;
      await refused(store.inbox.recount(id, { epoch: epoch - 1, inboxId: first, attempts }), 'FENCED');
      assert.equal((await store.inbox.get(first)).attempts, 2);
      await store.inbox.recount(id, { epoch, inboxId: first, attempts });
      await store.inbox.recount(id, { epoch, inboxId: second, attempts: 7 });
      for await (const open of beforeAndAfter({ store, reopen })) {
        const rows = await open.inbox.pending(id);
        const seen = rows.map(({ inboxId, state, attempts: tries }) => [inboxId, state, tries]);
        assert.deepEqual(seen, [
          [first, 'running', 1],
          [second, 'accepted', 0],
        ]);
      }
    },
  },
  {
    name: 'only the lease holder may take a message',
    promise: 'P5: a stale runner takes nothing',
    area: 'inbox',
    async run({ store }) {
      const ids = await put(store, 1);
      const id = await sessionOf(store, ids[0]);
      const lease = await store.lease(id, { waitMs: 0 });
      await refused(store.inbox.take(id, { epoch: lease.epoch - 1 }), 'FENCED');
      await refused(store.inbox.take(id, { epoch: lease.epoch + 1 }), 'FENCED');
      assert.equal((await store.inbox.get(ids[0] ?? '')).attempts, 0);
      assert.equal((await store.inbox.take(id, lease))?.inboxId, ids[0]);
    },
  },
  {
    name: 'messages of one session are not given to another',
    promise: 'P8: sessions do not see each other',
    area: 'inbox',
    async run({ store }) {
      await put(store, 2);
      const other = await store.create({ key: 'agent:main:direct:carol' });
      const lease = await store.lease(other.id, { waitMs: 0 });
      assert.equal(await store.inbox.take(other.id, lease), null);
      assert.deepEqual(await store.inbox.pending(other.id), []);
      assert.equal(await lease.release(), null);
    },
  },
  {
    name: 'a message can end in every final state, with a reason',
    promise: 'P6: a message runs, or its sender learns why not',
    area: 'inbox',
    async run({ store, reopen }) {
      const ids = await put(store, FINAL.length);
      const id = await sessionOf(store, ids[0]);
      const lease = await store.lease(id, { waitMs: 0 });
      for (const state of FINAL) {
        const item = await store.inbox.take(id, lease);
        await store.inbox.settle(item?.inboxId ?? '', state, { reason: `because ${state}` });
      }
      assert.equal(await lease.release(), null);
      for await (const open of beforeAndAfter({ store, reopen })) {
        for (const [i, state] of FINAL.entries()) {
          const item = await open.inbox.get(ids[i] ?? '');
          assert.equal(item.state, state);
          assert.deepEqual(item.detail, { reason: `because ${state}` });
        }
        assert.deepEqual(await open.inbox.pending(), []);
      }
    },
  },
  {
    name: 'a waiting message can be settled without running',
    promise: 'P6: a sender may cancel a message that has not started',
    area: 'inbox',
    async run({ store }) {
      const [first = '', second = ''] = await put(store, 2);
      const id = await sessionOf(store, first);
      await store.inbox.settle(first, 'cancelled');
      const lease = await store.lease(id, { waitMs: 0 });
      assert.equal((await store.inbox.take(id, lease))?.inboxId, second);
      assert.equal(await store.inbox.take(id, lease), null);
      assert.equal((await store.inbox.get(first)).attempts, 0);
    },
  },
  {
    name: 'the first final state of a message stays',
    promise: 'P2: what was answered is not answered again',
    area: 'inbox',
    async run({ store }) {
      const [inboxId = ''] = await put(store, 1);
      await store.inbox.settle(inboxId, 'done', { reply: 'first' });
      for (const state of FINAL) await settleOrRefuse(store, inboxId, state);
      const item = await store.inbox.get(inboxId);
      assert.equal(item.state, 'done');
      assert.deepEqual(item.detail, { reply: 'first' });
    },
  },
  {
    name: 'an unknown message is not found',
    promise: 'P2: a missing item is an error of its kind',
    area: 'inbox',
    async run({ store }) {
      await put(store, 1);
      await refused(store.inbox.settle('no-such-item', 'done'), 'NOT_FOUND');
      await refused(store.inbox.get('no-such-item'), 'NOT_FOUND');
    },
  },
  {
    name: 'pending messages are the accepted and the running ones, oldest first',
    promise: 'P9: waiting messages are visible',
    area: 'inbox',
    async run({ store }) {
      const [a = '', b = '', c = '', d = ''] = await put(store, 4);
      const id = await sessionOf(store, a);
      const other = await store.inbox.receive({
        sessionKey: 'agent:main:direct:carol',
        source: 's',
        body: {},
      });
      const lease = await store.lease(id, { waitMs: 0 });
      await store.inbox.take(id, lease);
      await store.inbox.take(id, lease);
      await store.inbox.settle(a, 'done');
      await store.inbox.settle(d, 'dropped');
      const pending = await store.inbox.pending(id);
      assert.deepEqual(
        pending.map(({ inboxId, state, attempts }) => [inboxId, state, attempts]),
        [
          [b, 'running', 1],
          [c, 'accepted', 0],
        ],
      );
      assert.deepEqual(
        (await store.inbox.pending()).map(({ inboxId }) => inboxId),
        [b, c, other.inboxId],
      );
    },
  },
  {
    name: 'accepted messages survive closing and reopening the store',
    promise: 'P6: queued messages survive a restart and run',
    area: 'inbox',
    async run({ store, reopen }) {
      const body = { text: 'a\u0000b \ud800 \u2028 😀', nested: { list: [1, null, 'x'] } };
      const { inboxId, sessionId } = await store.inbox.receive({ sessionKey: BOB, source: 's', body });
      const ids = [inboxId, ...(await put(store, 3))];
      const before = await store.inbox.pending();
      const reopened = await reopen();
      assert.deepEqual(await reopened.inbox.pending(), before);
      assert.equal((await reopened.active(BOB))?.id, sessionId);
      const lease = await reopened.lease(sessionId, { waitMs: 0 });
      for (const expected of ids) {
        const item = await reopened.inbox.take(sessionId, lease);
        assert.equal(item?.inboxId, expected);
        if (expected === inboxId) assert.deepEqual(item?.body, body);
      }
      assert.equal(await reopened.inbox.take(sessionId, lease), null);
    },
  },
];

/** Sends `{n: 1}`, `{n: 2}`, … to Bob's session. @returns the inbox ids in that order. */
async function put(store: Store, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (const n of range(1, count)) {
    ids.push((await store.inbox.receive({ sessionKey: BOB, source: 'telegram', body: { n } })).inboxId);
  }
  return ids;
}

async function sessionOf(store: Store, inboxId = ''): Promise<string> {
  return (await store.inbox.get(inboxId)).sessionId;
}

/** A second settlement may be ignored or refused, but must not change anything. */
async function settleOrRefuse(store: Store, inboxId: string, state: InboxState): Promise<void> {
  const work = store.inbox.settle(inboxId, state, { reply: 'second' });
  const [result] = await Promise.allSettled([work]);
  if (result.status === 'rejected') await refused(Promise.reject(result.reason), 'INVALID_INPUT');
}
