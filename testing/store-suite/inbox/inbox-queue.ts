import assert from 'node:assert/strict';
import type { Inbound, InboxReceipt, QueueLimit } from '../../../src/store/port/inbox.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { beforeAndAfter, range, refused } from '../kit.ts';
import type { StoreCase } from '../store-case.ts';

const BOB = 'agent:main:telegram:direct:bob';
const CAROL = 'agent:main:telegram:direct:carol';

export const queueCases: readonly StoreCase[] = [
  {
    name: 'a full queue refuses the newest message and stores nothing of it',
    promise: 'P6: a message runs, or its sender learns why not',
    area: 'inbox',
    async run({ store }) {
      const queue = { cap: 3, drop: 'new' } as const;
      const ids = await put(store, 3, { queue });
      const late = { sessionKey: BOB, source: 's', body: { n: 4 }, queue, idempotencyKey: 'm4' };
      const error = await refused(store.inbox.receive(late), 'QUEUE_FULL');
      assert.equal(error.details['limit'], 3);
      assert.deepEqual(await waiting(store), ids);
      await store.inbox.settle(ids[0] ?? '', 'cancelled');
      assert.equal((await store.inbox.receive(late)).fresh, true, 'its key was not spent');
    },
  },
  {
    name: 'a full queue drops the oldest message, and its sender can see why',
    promise: 'P6: a message runs, or its sender learns why not',
    area: 'inbox',
    async run({ store, reopen }) {
      const [a = '', b = '', c = ''] = await put(store, 3);
      const receipt = await send(store, { queue: { cap: 3, drop: 'old' } });
      assert.deepEqual(receipt.dropped, [a]);
      const shrunk = await send(store, { queue: { cap: 2, drop: 'old' } });
      assert.deepEqual(shrunk.dropped, [b, c], 'a smaller cap takes as many as it needs');
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.deepEqual(await waiting(open), [receipt.inboxId, shrunk.inboxId]);
        for (const inboxId of [a, b, c]) {
          const { state, detail, carries } = await open.inbox.get(inboxId);
          assert.equal(state, 'dropped');
          assert.equal(detail?.['code'], 'QUEUE_FULL');
          assert.equal(detail?.['reason'], 'queue-full');
          assert.equal(typeof detail?.['message'], 'string');
          assert.equal(carries, undefined);
        }
        assert.equal((await open.inbox.get(receipt.inboxId)).carries, undefined);
      }
    },
  },
  {
    name: 'with summarize, a dropped message is carried by the next waiting one',
    promise: 'P6: no message is dropped silently',
    area: 'inbox',
    async run({ store, reopen }) {
      const queue = { cap: 2, drop: 'summarize' } as const;
      const [a = '', b = '', c = '', d = '', e = ''] = await put(store, 5, { queue });
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.deepEqual(await waiting(open), [d, e]);
        assert.deepEqual((await open.inbox.get(d)).carries, [a, b, c], 'with all they carried themselves');
        assert.equal((await open.inbox.get(e)).carries, undefined);
        for (const inboxId of [a, b, c]) assert.equal((await open.inbox.get(inboxId)).state, 'dropped');
      }
    },
  },
  {
    name: 'with a cap of one, the newest message carries all earlier ones',
    promise: 'P6: no message is dropped silently',
    area: 'inbox',
    async run({ store }) {
      const ids = await put(store, 4, { queue: { cap: 1, drop: 'summarize' } });
      const last = ids.at(-1) ?? '';
      assert.deepEqual(await waiting(store), [last]);
      assert.deepEqual((await store.inbox.get(last)).carries, ids.slice(0, -1));
    },
  },
  {
    name: 'only waiting messages count for the cap: no system messages, commands, running messages or other sessions',
    promise: 'P6: a child’s result is never dropped',
    area: 'inbox',
    async run({ store }) {
      for (const drop of ['old', 'summarize', 'new'] as const) {
        const key = `agent:main:telegram:direct:${drop}`;
        const queue: QueueLimit = { cap: 2, drop };
        const result = await send(store, { sessionKey: key, class: 'system' });
        const command = await send(store, { sessionKey: key, class: 'command' });
        const running = await send(store, { sessionKey: key });
        await send(store, { sessionKey: CAROL });
        const lease = await store.lease(result.sessionId, { waitMs: 0 });
        await store.inbox.take(result.sessionId, { epoch: lease.epoch, inboxId: running.inboxId });
        const kept = [
          await send(store, { sessionKey: key, queue }),
          await send(store, { sessionKey: key, queue }),
        ];
        const more = [
          await send(store, { sessionKey: key, queue, class: 'system' }),
          await send(store, { sessionKey: key, queue, class: 'command' }),
        ];
        for (const { dropped } of [...kept, ...more]) assert.deepEqual(dropped, []);
        const full = send(store, { sessionKey: key, queue });
        if (drop === 'new') await refused(full, 'QUEUE_FULL');
        else assert.deepEqual((await full).dropped, [kept[0]?.inboxId]);
        for (const { inboxId } of [result, command, ...more]) {
          const { state } = await store.inbox.get(inboxId);
          assert.ok(state === 'accepted' || state === 'running', state);
        }
      }
    },
  },
  {
    name: 'a command runs in the process that received it and is never taken by a runner',
    promise: 'P6: a message runs once',
    area: 'inbox',
    async run({ store }) {
      const command = await send(store, { class: 'command' });
      const item = await store.inbox.get(command.inboxId);
      assert.deepEqual([item.state, item.class, item.attempts], ['running', 'command', 0]);
      const { sessionId } = command;
      const lease = await store.lease(sessionId, { waitMs: 0 });
      assert.equal(await store.inbox.take(sessionId, lease), null);
      const { epoch } = lease;
      assert.equal(await store.inbox.take(sessionId, { epoch, orphans: true }), null);
      assert.equal(await store.inbox.take(sessionId, { epoch, inboxId: command.inboxId }), null);
      const result = await send(store, { class: 'system' });
      assert.equal((await store.inbox.take(sessionId, { epoch, orphans: true }))?.inboxId, result.inboxId);
      await store.inbox.settle(command.inboxId, 'done', { text: 'ok' });
      await store.inbox.settle(result.inboxId, 'done');
      assert.equal(await lease.release(), null);
      assert.deepEqual((await store.inbox.get(command.inboxId)).detail, { text: 'ok' });
    },
  },
  {
    name: 'a message that asks for an idle session is refused by a busy one',
    promise: 'P6: a sender that cannot wait is refused at once',
    area: 'inbox',
    async run({ store }) {
      const first = await send(store, { ifIdle: true });
      await refused(send(store, { ifIdle: true }), 'SESSION_BUSY');
      const lease = await store.lease(first.sessionId, { waitMs: 0 });
      await store.inbox.take(first.sessionId, lease);
      await refused(send(store, { ifIdle: true }), 'SESSION_BUSY');
      assert.equal((await store.inbox.pending()).length, 1);
      await send(store, { sessionKey: CAROL, ifIdle: true });
      await store.inbox.settle(first.inboxId, 'done');
      const tries = await Promise.allSettled(range(1, 5).map(() => send(store, { ifIdle: true })));
      assert.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1, 'of many one gets it');
      await lease.release({ handOver: true });
    },
  },
  {
    name: 'a group never exceeds its limit of open messages, even with concurrent senders',
    promise: 'P4: a fan-out is bounded',
    area: 'inbox',
    async run({ store, reopen }) {
      const group = { name: 'children of bob', max: 5 };
      const key = (n: number): string => `agent:main:subagent:child-${n}`;
      const tries = await Promise.allSettled(
        range(1, 20).map((n) => send(store, { sessionKey: key(n), group })),
      );
      const done = tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      assert.equal(done.length, 5);
      const error = await refused(send(store, { sessionKey: key(21), group }), 'LIMIT_EXCEEDED');
      assert.equal(error.details['limit'], 'group');
      assert.equal((await store.list()).sessions.length, 5, 'a refused message makes no session');
      await send(store, { sessionKey: key(22), group: { name: 'others', max: 5 } });
      for await (const open of beforeAndAfter({ store, reopen })) {
        const pending = await open.inbox.pending({ group: group.name });
        assert.deepEqual(pending.map(({ inboxId }) => inboxId).sort(), done.map((one) => one.inboxId).sort());
        for (const item of pending) assert.equal(item.group, group.name);
        const [{ sessionId = '', inboxId = '' } = {}] = done;
        assert.deepEqual(
          (await open.inbox.pending({ group: group.name, sessionId })).map((item) => item.inboxId),
          [inboxId],
        );
        assert.deepEqual(await open.inbox.pending({ group: 'others', sessionId }), []);
        if (open !== store) {
          await open.inbox.settle(inboxId, 'done');
          assert.equal(
            (await send(open, { sessionKey: key(23), group })).fresh,
            true,
            'one that ends makes place',
          );
          await refused(send(open, { sessionKey: key(24), group }), 'LIMIT_EXCEEDED');
        }
      }
    },
  },
  {
    name: 'the item of a message key can be looked up',
    promise: 'P2: unknown can be looked up',
    area: 'inbox',
    async run({ store, reopen }) {
      const key = { sessionKey: BOB, source: 'telegram', idempotencyKey: 'm1' };
      assert.equal(await store.inbox.known(key), undefined);
      const { inboxId } = await send(store, { idempotencyKey: 'm1' });
      await store.inbox.settle(inboxId, 'done', { text: 'the answer' });
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.deepEqual(await open.inbox.known(key), await open.inbox.get(inboxId));
        assert.deepEqual((await open.inbox.known(key))?.detail, { text: 'the answer' });
        const sameAgent = { ...key, sessionKey: CAROL };
        assert.equal((await open.inbox.known(sameAgent))?.inboxId, inboxId, 'keys are an agent’s');
        for (const other of [{ source: 'http' }, { idempotencyKey: 'm2' }, { sessionKey: 'agent:a:main' }])
          assert.equal(await open.inbox.known({ ...key, ...other }), undefined);
      }
    },
  },
];

async function send(store: Store, more: Partial<Inbound> = {}): Promise<InboxReceipt> {
  return store.inbox.receive({ sessionKey: BOB, source: 'telegram', body: { text: 'hi' }, ...more });
}

async function put(store: Store, count: number, more: Partial<Inbound> = {}): Promise<string[]> {
  const ids: string[] = [];
  for (const n of range(1, count)) ids.push((await send(store, { body: { n }, ...more })).inboxId);
  return ids;
}

/** The waiting messages of Bob's session, oldest first. */
async function waiting(store: Store): Promise<string[]> {
  const pending = await store.inbox.pending((await store.active(BOB))?.id);
  return pending.map(({ inboxId }) => inboxId);
}
