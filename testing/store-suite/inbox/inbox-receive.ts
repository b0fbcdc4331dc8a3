import assert from 'node:assert/strict';
import type { Inbound } from '../../../src/store/port/inbox.ts';
import { beforeAndAfter, range, readAll, readEntries, refused, session, textOf, user } from '../kit.ts';
import type { StoreCase } from '../store-case.ts';

const BOB = 'agent:main:telegram:direct:bob';
const inbound = (text: string, more: Partial<Inbound> = {}): Inbound => ({
  sessionKey: BOB,
  source: 'telegram',
  body: { text },
  ...more,
});

export const receiveCases: readonly StoreCase[] = [
  {
    name: 'a message too long for a line is refused, and nothing of it is stored',
    promise: 'P7: only the sender pays for a message that is too large',
    area: 'inbox',
    async run({ store }) {
      const body = { text: '\u6f22'.repeat(6 * 1024 * 1024) };
      await refused(store.inbox.receive(inbound('', { body })), 'LIMIT_EXCEEDED');
      assert.deepEqual(await store.inbox.pending(), []);
    },
  },
  {
    name: 'the first message for a key creates its session, the second finds it',
    promise: 'P6: a message is accepted with everything it needs',
    area: 'inbox',
    async run({ store }) {
      assert.equal(await store.active(BOB), undefined);
      const first = await store.inbox.receive(inbound('one'));
      assert.equal(first.fresh, true);
      assert.equal(first.sessionKey, BOB);
      const record = await store.active(BOB);
      assert.equal(record?.id, first.sessionId);
      assert.equal(record?.active, true);
      const second = await store.inbox.receive(inbound('two'));
      assert.equal(second.sessionId, first.sessionId);
      assert.notEqual(second.inboxId, first.inboxId);
      assert.equal(second.fresh, true);
      assert.equal((await store.list()).sessions.length, 1);
    },
  },
  {
    name: 'messages that arrive at once for an unknown key share one session',
    promise: 'P6: no message lands in a session without its history',
    area: 'inbox',
    async run({ store }) {
      const receipts = await Promise.all(range(1, 20).map((i) => store.inbox.receive(inbound(`${i}`))));
      assert.equal(new Set(receipts.map(({ sessionId }) => sessionId)).size, 1);
      assert.equal(new Set(receipts.map(({ inboxId }) => inboxId)).size, 20);
      assert.equal((await store.list()).sessions.length, 1);
      assert.equal((await store.inbox.pending()).length, 20);
    },
  },
  {
    name: 'a message goes to the session the key was switched to',
    promise: 'P9: switching a key takes effect',
    area: 'inbox',
    async run({ store }) {
      const [one, two] = [await session(store, [], BOB), await session(store, [], BOB)];
      for (const id of [one, two, one]) {
        await store.activate(BOB, id);
        assert.equal((await store.inbox.receive(inbound('hi'))).sessionId, id);
      }
    },
  },
  {
    name: 'a message can name its session, whichever is active',
    promise: 'P9: a message goes where it was sent',
    area: 'inbox',
    async run({ store }) {
      const [one, two] = [await session(store, [], BOB), await session(store, [], BOB)];
      await store.activate(BOB, two);
      assert.equal((await store.inbox.receive(inbound('hi', { sessionId: one }))).sessionId, one);
      assert.equal((await store.active(BOB))?.id, two);
      const other = await session(store);
      await refused(store.inbox.receive(inbound('hi', { sessionId: other })), 'INVALID_INPUT');
      await refused(store.inbox.receive(inbound('hi', { sessionId: 'nobody' })), 'SESSION_NOT_FOUND');
      await store.delete(one);
      await refused(store.inbox.receive(inbound('hi', { sessionId: one })), 'SESSION_DELETED');
      assert.equal((await store.inbox.pending(one)).length, 0);
    },
  },
  {
    name: 'a key whose session was deleted gets a new one',
    promise: 'P6: a message is accepted with everything it needs',
    area: 'inbox',
    async run({ store }) {
      const first = await store.inbox.receive(inbound('one'));
      await store.delete(first.sessionId);
      const second = await store.inbox.receive(inbound('two'));
      assert.notEqual(second.sessionId, first.sessionId);
      assert.equal((await store.active(BOB))?.id, second.sessionId);
      assert.equal((await store.get(second.sessionId)).status, 'open');
    },
  },
  {
    name: 'a message sent twice is accepted once',
    promise: 'P2: unknown can be retried with the same key and never duplicates',
    area: 'inbox',
    async run({ store, reopen }) {
      const message = inbound('once', { idempotencyKey: 'm1' });
      const first = await store.inbox.receive(message);
      assert.deepEqual(first.created, { replaced: null });
      const { created: _created, ...place } = first;
      const again = { ...place, fresh: false };
      assert.deepEqual(await store.inbox.receive(message), again);
      const reopened = await reopen();
      assert.deepEqual(await reopened.inbox.receive(message), again);
      const reset = await reopened.inbox.receive({ ...message, reset: { reason: 'asked for' } });
      assert.deepEqual(reset, again, 'the key is looked at before the reset');
      assert.equal((await reopened.inbox.pending()).length, 1);
      assert.equal((await reopened.list()).sessions.length, 1);
    },
  },
  {
    name: 'the same message sent many times at once is accepted once',
    promise: 'P2: unknown can be retried with the same key and never duplicates',
    area: 'inbox',
    async run({ store }) {
      const message = inbound('once', { idempotencyKey: 'm1' });
      const receipts = await Promise.all(range(1, 10).map(() => store.inbox.receive(message)));
      assert.equal(new Set(receipts.map(({ inboxId }) => inboxId)).size, 1);
      assert.equal(receipts.filter(({ fresh }) => fresh).length, 1);
      assert.equal((await store.inbox.pending()).length, 1);
    },
  },
  {
    name: 'a message key with another body is refused',
    promise: 'P2: a retry is the same request',
    area: 'inbox',
    async run({ store }) {
      await store.inbox.receive(inbound('one', { idempotencyKey: 'm1' }));
      await refused(store.inbox.receive(inbound('other', { idempotencyKey: 'm1' })), 'KEY_REUSED');
      assert.equal((await store.inbox.pending()).length, 1);
    },
  },
  {
    name: 'a message with a digest is compared by the digest only',
    promise: 'P2: a retry is the same request',
    area: 'inbox',
    async run({ store }) {
      const message = inbound('one', { idempotencyKey: 'm1', digest: 'digest one' });
      const { inboxId } = await store.inbox.receive(message);
      const again = await store.inbox.receive({ ...message, body: { text: 'one', mode: 'other' } });
      assert.deepEqual([again.inboxId, again.fresh], [inboxId, false]);
      await refused(store.inbox.receive({ ...message, digest: 'digest two' }), 'KEY_REUSED');
    },
  },
  {
    name: 'message keys are separate for each source and agent',
    promise: 'P8: one sender cannot swallow another’s message',
    area: 'inbox',
    async run({ store }) {
      const receipts = [
        await store.inbox.receive(inbound('x', { idempotencyKey: 'm1' })),
        await store.inbox.receive(inbound('x', { idempotencyKey: 'm1', source: 'http' })),
        await store.inbox.receive(inbound('x', { idempotencyKey: 'm1', sessionKey: 'agent:other:main' })),
        await store.inbox.receive(inbound('x', { idempotencyKey: 'm2' })),
        await store.inbox.receive(inbound('x')),
        await store.inbox.receive(inbound('x')),
      ];
      for (const { fresh } of receipts) assert.equal(fresh, true);
      assert.equal(new Set(receipts.map(({ inboxId }) => inboxId)).size, receipts.length);
    },
  },
  {
    name: 'message keys survive reset, delete and purge',
    promise: 'P2: a message is never accepted twice',
    area: 'inbox',
    async run({ store, reopen }) {
      const message = inbound('once', { idempotencyKey: 'm1' });
      const { sessionId, inboxId } = await store.inbox.receive(message);
      await store.inbox.receive(inbound('fresh start', { reset: { reason: 'asked for' } }));
      assert.equal((await store.inbox.receive(message)).inboxId, inboxId);
      await store.delete(sessionId);
      assert.equal((await store.inbox.receive(message)).inboxId, inboxId);
      await store.purge(sessionId);
      const late = await (await reopen()).inbox.receive(message);
      assert.equal(late.inboxId, inboxId);
      assert.equal(late.fresh, false);
    },
  },
  {
    name: 'a receipt says whether a runner holds the session',
    promise: 'P6: without a holder, the receiving process runs it',
    area: 'inbox',
    async run({ store }) {
      const first = await store.inbox.receive(inbound('one'));
      assert.equal(first.held, false);
      const lease = await store.lease(first.sessionId, { waitMs: 0 });
      assert.equal((await store.inbox.receive(inbound('two'))).held, true);
      for (let i = 0; i < 2; i++) {
        const item = await store.inbox.take(first.sessionId, { epoch: lease.epoch });
        await store.inbox.settle(item?.inboxId ?? '', 'done');
      }
      assert.equal(await lease.release(), null);
      assert.equal((await store.inbox.receive(inbound('three'))).held, false);
    },
  },
  {
    name: 'a reset starts a new session and keeps the old one',
    promise: 'P3: a reset destroys nothing',
    area: 'inbox',
    async run({ store, reopen }) {
      const { sessionId: old } = await store.inbox.receive(inbound('one'));
      await store.append(old, [user('remember me')]);
      const { sessionId: fresh } = await store.inbox.receive(
        inbound('two', { reset: { reason: 'asked for' } }),
      );
      assert.notEqual(fresh, old);
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.equal((await open.active(BOB))?.id, fresh);
        assert.equal((await open.get(old)).active, false);
        assert.equal((await open.get(old)).status, 'open');
        assert.ok((await readEntries(open, old)).map(textOf).includes('remember me'));
        assert.ok(!(await readEntries(open, fresh)).map(textOf).includes('remember me'));
        assert.deepEqual((await open.list()).sessions.map(({ id }) => id).sort(), [old, fresh].sort());
      }
    },
  },
  {
    name: 'a message that cannot be stored is refused and leaves no session behind',
    promise: 'P2: a message is accepted, or certainly not',
    area: 'inbox',
    async run({ store }) {
      const bad = [{ n: Number.NaN }, { when: new Date(0) }, { list: [undefined] }];
      for (const body of bad) await refused(store.inbox.receive(inbound('x', { body })), 'INVALID_INPUT');
      assert.deepEqual((await store.list({ status: 'any' })).sessions, []);
      assert.equal(await store.active(BOB), undefined);
      const { sessionId } = await store.inbox.receive(inbound('x'));
      assert.equal((await readAll(store, sessionId))[0]?.seq, 1);
    },
  },
];
