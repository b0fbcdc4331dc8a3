import assert from 'node:assert/strict';
import type { Inbound, InboxChange, InboxItem, InboxState } from '../../../src/store/port/inbox.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { leafMove, note, range, readEntries, refused, session, textOf, until, user, within } from '../kit.ts';
import type { StoreCase } from '../store-case.ts';

const BOB = 'agent:main:telegram:direct:bob';
const PARENT = 'agent:main:main';
const DONE = { state: 'done', detail: { text: 'answered' } } as const;

export const inboxAppendCases: readonly StoreCase[] = [
  {
    name: 'a message ends together with the append that answers it, or neither happens',
    promise: 'P6: no message runs again after its answer is stored',
    area: 'inbox',
    async run({ store, reopen }) {
      const { sessionId: id, inboxId } = await send(store);
      const lease = await store.lease(id, { waitMs: 0 });
      await store.inbox.take(id, lease);
      const { lastSeq } = await store.get(id);
      const settle = [{ inboxId, ...DONE }];
      const { epoch } = lease;
      const say = [user('answer')];
      await refused(store.append(id, say, { key: 'k', epoch: epoch + 1, settle }), 'FENCED');
      await refused(store.append(id, say, { key: 'k', epoch, expectedLeaf: 'x', settle }), 'LEAF_MOVED');
      const missing = [...settle, { inboxId: 'no-such-item', state: 'done' as const }];
      await refused(store.append(id, say, { key: 'k', epoch, settle: missing }), 'NOT_FOUND');
      assert.equal((await store.inbox.get(inboxId)).state, 'running');
      assert.equal((await store.get(id)).lastSeq, lastSeq);
      const receipt = await store.append(id, say, { key: 'k', epoch, settle });
      assert.equal(receipt.firstSeq, lastSeq + 1, 'refused, they took no seq and no key');
      await lease.release();
      const item = await (await reopen()).inbox.get(inboxId);
      assert.deepEqual([item.state, item.detail], ['done', { text: 'answered' }]);
    },
  },
  {
    name: 'a retry of a successful append also ends its messages, and a final state stays',
    promise: 'P2: unknown can be retried with the same key and never duplicates',
    area: 'inbox',
    async run({ store }) {
      const [first, second] = [await send(store), await send(store)];
      const { sessionId: id } = first;
      const receipt = await store.append(id, [user('answer')], { key: 'k' });
      await store.inbox.settle(second.inboxId, 'cancelled', { reason: 'stopped' });
      const settle = [first, second].map(({ inboxId }) => ({ inboxId, ...DONE }));
      for (const _ of range(1, 2)) {
        assert.deepEqual(await store.append(id, [user('answer')], { key: 'k', settle }), receipt);
        assert.equal((await store.inbox.get(first.inboxId)).state, 'done');
        assert.equal((await store.inbox.get(second.inboxId)).state, 'cancelled');
      }
      await refused(store.append(id, [user('other')], { key: 'k', settle }), 'KEY_REUSED');
    },
  },
  {
    name: 'a message delivered with an append is accepted with it, exactly once',
    promise: 'P6: a child’s result reaches its parent exactly once',
    area: 'inbox',
    async run({ store, reopen }) {
      const parent = await session(store, [], PARENT);
      const child = await session(store, [], BOB);
      const deliver = [result(parent, 'r1')];
      const say = [user('done')];
      const receipt = await store.append(child, say, { key: 'k', deliver });
      const [item] = await store.inbox.pending(parent);
      assert.deepEqual([item?.body, item?.class], [{ result: 'r1' }, 'system']);
      const tries = range(1, 5).map(() => store.append(child, say, { key: 'k', deliver }));
      for (const again of await Promise.all(tries)) assert.deepEqual(again, receipt);
      await store.inbox.settle(item?.inboxId ?? '', 'done');
      const reopened = await reopen();
      assert.deepEqual(await reopened.append(child, say, { key: 'k', deliver }), receipt);
      assert.deepEqual(await reopened.inbox.pending(), []);
      assert.equal(
        (await readEntries(reopened, child)).map(textOf).filter((text) => text === 'done').length,
        1,
      );
    },
  },
  {
    name: 'an append may deliver to its own session: an undo and the new message are atomic',
    promise: 'P2, P6: a resent message is undone and accepted, or neither',
    area: 'inbox',
    async run({ store, reopen }) {
      const id = await session(store, ['one', 'two'], PARENT);
      const { leaf, lastSeq } = await store.get(id);
      const lease = await store.lease(id, { waitMs: 0 });
      const { epoch } = lease;
      const again = {
        ...result(id, 'r1'),
        class: 'message' as const,
        queue: { cap: 1, drop: 'new' as const },
      };
      const back = [leafMove(null)];
      await refused(store.append(id, back, { epoch: epoch + 1, deliver: [again] }), 'FENCED');
      assert.deepEqual([(await store.get(id)).leaf, await store.inbox.pending(id)], [leaf, []]);
      await store.append(id, back, { epoch, deliver: [again] });
      const moved = await store.get(id);
      assert.deepEqual([moved.leaf, moved.lastSeq], [null, lastSeq + 1]);
      const waiting = await lease.release();
      assert.deepEqual(waiting?.body, { result: 'r1' }, 'the holder of the session sees it');
      // No room for a second message: then the undo does not happen either.
      const more = { ...again, idempotencyKey: 'r2' };
      await refused(store.append(id, back, { epoch, deliver: [more] }), 'QUEUE_FULL');
      assert.equal((await store.get(id)).lastSeq, moved.lastSeq);
      await lease.release({ handOver: true });
      const [item, ...others] = await (await reopen()).inbox.pending(id);
      assert.deepEqual([item?.inboxId, others], [waiting?.inboxId, []]);
    },
  },
  {
    name: 'a refused append delivers nothing, and an append with a refused delivery is not stored',
    promise: 'P2: all of it happens, or nothing',
    area: 'inbox',
    async run({ store }) {
      const parent = await session(store, [], PARENT);
      const { sessionId: child, inboxId } = await send(store);
      const settle = [{ inboxId, ...DONE }];
      const { lastSeq } = await store.get(child);
      const say = [user('done')];
      const fenced = store.append(child, say, { epoch: 77, settle, deliver: [result(parent, 'r1')] });
      await refused(fenced, 'FENCED');
      const { idempotencyKey: _key, ...keyless } = result(parent, 'r1');
      const refusals = [
        { ...result(parent, 'r2'), sessionKey: BOB },
        { ...result(parent, 'r2'), body: { when: new Date(0) } },
        keyless,
      ];
      for (const bad of refusals) {
        const deliver = [result(parent, 'r1'), bad];
        await refused(store.append(child, say, { key: 'k', settle, deliver }), 'INVALID_INPUT');
      }
      assert.deepEqual(await store.inbox.pending(parent), []);
      assert.equal((await store.get(child)).lastSeq, lastSeq);
      assert.equal((await store.inbox.get(inboxId)).state, 'accepted');
      await store.append(child, say, { key: 'k', settle, deliver: [result(parent, 'r1')] });
      assert.equal((await store.inbox.pending(parent)).length, 1);
    },
  },
  {
    name: 'a delivery to a missing session does not fail the append',
    promise: 'P6: the work of a child is stored, whether or not its parent still exists',
    area: 'inbox',
    async run({ store }) {
      const [gone, alive] = [await session(store, [], PARENT), await session(store, [], PARENT)];
      const child = await session(store, [], BOB);
      await store.delete(gone);
      const deliver = [result(gone, 'r1'), result('never-was', 'r2'), result(alive, 'r3')];
      await store.append(child, [user('one')], { deliver });
      await store.purge(gone);
      await store.append(child, [user('two')], { deliver });
      assert.deepEqual((await readEntries(store, child)).map(textOf), ['one', 'two']);
      assert.equal((await store.inbox.pending()).length, 1);
      assert.equal((await store.inbox.pending(alive)).length, 1);
    },
  },
  {
    name: 'a waiting message can be taken by its id',
    promise: 'P6: a message runs once',
    area: 'inbox',
    async run({ store }) {
      const [first, second, third] = [await send(store), await send(store), await send(store)];
      const { sessionId: id } = first;
      const elsewhere = await send(store, { sessionKey: PARENT });
      const { epoch } = await store.lease(id, { waitMs: 0 });
      const take = (inboxId: string) => store.inbox.take(id, { epoch, inboxId });
      const item = await take(second.inboxId);
      assert.deepEqual([item?.inboxId, item?.state, item?.attempts], [second.inboxId, 'running', 1]);
      assert.equal(await take(second.inboxId), null, 'it runs already');
      await store.inbox.settle(third.inboxId, 'cancelled');
      assert.equal(await take(third.inboxId), null);
      assert.equal(await take(elsewhere.inboxId), null, 'another session’s');
      assert.equal(await take('no-such-item'), null);
      await refused(store.inbox.take(id, { epoch: epoch + 1, inboxId: first.inboxId }), 'FENCED');
      assert.equal((await store.inbox.take(id, { epoch }))?.inboxId, first.inboxId);
    },
  },
  {
    name: 'a lease can be handed over while messages wait',
    promise: 'P4: a process that ends does not block its sessions',
    area: 'lease',
    async run({ store }) {
      const { sessionId: id, inboxId } = await send(store);
      const lease = await store.lease(id, { waitMs: 0 });
      assert.equal((await lease.release())?.inboxId, inboxId);
      assert.equal((await lease.release({ handOver: false }))?.inboxId, inboxId);
      assert.equal(await lease.release({ handOver: true }), null);
      assert.equal((await store.inbox.get(inboxId)).state, 'accepted');
      await refused(store.inbox.take(id, lease), 'FENCED');
      const next = await store.lease(id, { waitMs: 0 });
      assert.equal((await store.inbox.take(id, next))?.inboxId, inboxId);
      assert.equal(await next.release(), null);
    },
  },
  {
    name: 'an inbox watch reports every session with an accepted or ended message',
    promise: 'P6: accepted input runs, whichever process accepted it',
    area: 'inbox',
    async run({ store }) {
      using watcher = watch(store);
      const first = await send(store);
      await watcher.expect([first, 'accepted']);
      const other = await send(store, { sessionKey: PARENT });
      await watcher.expect([other, 'accepted']);
      await store.inbox.settle(first.inboxId, 'done');
      await watcher.expect([first, 'done']);
      const pending = await send(store);
      await watcher.expect([pending, 'accepted']);
      const settle = [{ inboxId: pending.inboxId, ...DONE }];
      const two = other.sessionId;
      await store.append(first.sessionId, [note('turn')], { settle, deliver: [result(two, 'r1')] });
      const [, told] = await store.inbox.pending(two);
      assert(told !== undefined);
      await watcher.expect([pending, 'done'], [told, 'accepted']);
      await store.delete(two);
      await watcher.expect([other, 'cancelled'], [told, 'cancelled']);
    },
  },
  {
    name: 'an inbox watch starts with the call and ends with its signal or its store',
    promise: 'P4, P6: nothing is missed, nothing hangs',
    area: 'inbox',
    async run({ store }) {
      const stop = new AbortController();
      const changes = store.inbox.watch({ signal: stop.signal })[Symbol.asyncIterator]();
      const { sessionId, inboxId } = await send(store);
      const first = await within(changes.next(), 'what came before the first look');
      assert.deepEqual(first, { done: false, value: { sessionId, inboxId, state: 'accepted' } });
      const next = changes.next();
      stop.abort();
      assert.equal((await within(next, 'the end of a watch')).done, true);
      const open = store.inbox.watch({ signal: new AbortController().signal })[Symbol.asyncIterator]();
      const end = Promise.allSettled([drain(open)]);
      await within(store[Symbol.asyncDispose](), 'the store to close');
      await within(end, 'the end of a watch on a closed store');
    },
  },
];

function result(sessionId: string, key: string): Inbound {
  const place = { sessionKey: PARENT, sessionId, source: 'subagent', idempotencyKey: key };
  return { ...place, body: { result: key }, class: 'system' };
}

async function send(store: Store, more: Partial<Inbound> = {}) {
  return store.inbox.receive({ sessionKey: BOB, source: 'telegram', body: { text: 'hi' }, ...more });
}

async function drain(changes: AsyncIterator<InboxChange>): Promise<void> {
  while ((await changes.next()).done !== true);
}

/** Waits for changes instead of counting them: a watch may report an item too often, but never misses one. */
function watch(store: Store): Disposable & {
  expect(
    ...items: readonly (readonly [Pick<InboxItem, 'sessionId' | 'inboxId'>, InboxState])[]
  ): Promise<void>;
} {
  const stop = new AbortController();
  let heard = new Set<string>();
  const name = ({ sessionId, inboxId, state }: InboxChange): string => `${inboxId} of ${sessionId}: ${state}`;
  void (async () => {
    for await (const change of store.inbox.watch({ signal: stop.signal })) heard.add(name(change));
  })().catch(() => undefined);
  return {
    async expect(...items) {
      const names = items.map(([{ sessionId, inboxId }, state]) => name({ sessionId, inboxId, state }));
      await until(() => names.every((one) => heard.has(one)), `changes of ${names.join(' and ')}`);
      heard = new Set();
    },
    [Symbol.dispose]: () => stop.abort(),
  };
}
