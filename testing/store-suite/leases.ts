import assert from 'node:assert/strict';
import { isObject } from '../../src/transcript/json.ts';
import { leafMove, meanwhile, note, readEntries, refused, session, until, user, within } from './kit.ts';
import type { StoreCase } from './store-case.ts';

export const leaseCases: readonly StoreCase[] = [
  {
    name: 'every grant has a higher epoch than any before, also after reopening',
    promise: 'P5: one writer, fenced',
    area: 'lease',
    async run({ store, reopen }) {
      const id = await session(store, ['a']);
      let last = (await store.get(id)).epoch;
      for (let i = 0; i < 4; i++) {
        const lease = await store.lease(id, { waitMs: 0 });
        assert.equal(lease.sessionId, id);
        assert.ok(lease.epoch > last, `${lease.epoch} is higher than ${last}`);
        assert.equal((await store.get(id)).epoch, lease.epoch);
        last = lease.epoch;
        assert.equal(await lease.release(), null);
      }
      const reopened = await reopen();
      const lease = await reopened.lease(id, { waitMs: 0 });
      assert.ok(lease.epoch > last);
      await lease.release();
    },
  },
  {
    name: 'a held session is refused with the name of its holder',
    promise: 'P5: one writer at a time',
    area: 'lease',
    async run({ store }) {
      const [id, other] = [await session(store), await session(store)];
      const lease = await store.lease(id, { waitMs: 0 });
      const error = await refused(store.lease(id, { waitMs: 0 }), 'LEASE_HELD');
      assert.ok(isObject(error.details['holder']), 'details.holder is the holder');
      assert.equal(lease.signal.aborted, false);
      const beside = await store.lease(other, { waitMs: 0 });
      await beside.release();
      await lease.release();
      const next = await store.lease(id, { waitMs: 0 });
      assert.ok(next.epoch > lease.epoch);
      await next.release();
    },
  },
  {
    name: 'a waiting caller gets the lease when it is released',
    promise: 'P4, P5: one writer at a time, and no caller is stuck',
    area: 'lease',
    async run({ store }) {
      const id = await session(store);
      const lease = await store.lease(id, { waitMs: 0 });
      const waiting = meanwhile(store.lease(id, { waitMs: 60_000 }));
      await refused(store.lease(id, { waitMs: 0 }), 'LEASE_HELD');
      await lease.release();
      const next = await within(waiting, 'the waiting grant');
      assert.ok(next.epoch > lease.epoch);
      await next.release();
    },
  },
  {
    name: 'of many concurrent callers one gets the lease',
    promise: 'P5: one writer at a time',
    area: 'lease',
    async run({ store }) {
      const id = await session(store);
      const results = await Promise.allSettled(
        Array.from({ length: 8 }, () => store.lease(id, { waitMs: 0 })),
      );
      const granted = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      assert.equal(granted.length, 1);
      await granted[0]?.release();
    },
  },
  {
    name: 'an append with the epoch of an earlier holder is fenced',
    promise: 'P5: a stale writer gets an error, not a silent branch',
    area: 'lease',
    async run({ store }) {
      const id = await session(store, ['a']);
      const old = await store.lease(id, { waitMs: 0 });
      await store.append(id, [user('b')], { epoch: old.epoch });
      await old.release();
      const holder = await store.lease(id, { waitMs: 0 });
      const before = await store.get(id);
      await refused(store.append(id, [user('late')], { epoch: old.epoch }), 'FENCED');
      await refused(store.append(id, [leafMove(null)], { epoch: old.epoch }), 'FENCED');
      await refused(store.append(id, [user('early')], { epoch: holder.epoch + 1 }), 'FENCED');
      await refused(old.renew(), 'FENCED');
      assert.deepEqual(await store.get(id), before);
      await store.append(id, [user('c')], { epoch: holder.epoch });
      await holder.release();
    },
  },
  {
    name: 'while a session is held, only the holder may move the leaf',
    promise: 'P5: only the running turn moves its leaf',
    area: 'lease',
    async run({ store }) {
      const id = await session(store, ['a', 'b']);
      const [a] = await readEntries(store, id);
      const lease = await store.lease(id, { waitMs: 0 });
      const before = await store.get(id);
      await refused(store.append(id, [user('c')]), 'LEASE_HELD');
      await refused(store.append(id, [{ type: 'model_change', provider: 'p', modelId: 'm' }]), 'LEASE_HELD');
      await refused(store.append(id, [{ type: 'unheard_of' }]), 'LEASE_HELD');
      await refused(store.append(id, [leafMove(a?.id ?? null)]), 'LEASE_HELD');
      await refused(store.append(id, [note('n'), user('c')]), 'LEASE_HELD');
      assert.deepEqual(await store.get(id), before);
      await store.append(id, [user('c')], { epoch: lease.epoch });
      await store.append(id, [leafMove(a?.id ?? null)], { epoch: lease.epoch });
      await lease.release();
      await store.append(id, [user('d')]);
    },
  },
  {
    name: 'any caller may append side entries to a held session',
    promise: 'P5: side appends never disturb a running turn',
    area: 'lease',
    async run({ store }) {
      const id = await session(store, ['a']);
      const lease = await store.lease(id, { waitMs: 0 });
      const { leaf } = await store.get(id);
      await store.append(id, [note('n'), { type: 'label', targetId: leaf, label: 'x' }]);
      await store.append(id, [
        { type: 'usage', input: 1 },
        { type: 'session_info', name: 'n' },
      ]);
      await store.patch(id, { model: 'm' });
      assert.equal((await store.get(id)).leaf, leaf);
      await store.append(id, [user('b')], { epoch: lease.epoch, expectedLeaf: leaf });
      await lease.release();
    },
  },
  {
    name: 'renewing keeps the lease',
    promise: 'P5: a holder that sends heartbeats stays the holder',
    area: 'lease',
    async run({ store }) {
      const id = await session(store, ['a']);
      const lease = await store.lease(id, { waitMs: 0, ttlMs: 30_000 });
      for (let i = 0; i < 3; i++) await lease.renew();
      await refused(store.lease(id, { waitMs: 0 }), 'LEASE_HELD');
      assert.equal(lease.signal.aborted, false);
      await store.append(id, [user('b')], { epoch: lease.epoch });
      assert.equal((await store.get(id)).epoch, lease.epoch);
      await lease.release();
    },
  },
  {
    name: 'a lease on a deleted session is lost, and its signal aborts',
    promise: 'P5: delete fences the runner',
    area: 'lease',
    async run({ store }) {
      const id = await session(store, ['a']);
      const lease = await store.lease(id, { waitMs: 0 });
      await store.delete(id);
      await until(() => lease.signal.aborted, 'the signal of the lost lease');
      assert.ok((await store.get(id)).epoch > lease.epoch);
      await store.restore(id);
      await refused(store.append(id, [user('late')], { epoch: lease.epoch }), 'FENCED');
      const next = await store.lease(id, { waitMs: 0 });
      assert.ok(next.epoch > lease.epoch);
      await next.release();
    },
  },
  {
    name: 'a lease is not released while an accepted message waits',
    promise: 'P6: accepted input runs, no wakeup is lost',
    area: 'lease',
    async run({ store }) {
      const sessionKey = 'agent:main:direct:bob';
      const { sessionId: id, inboxId } = await store.inbox.receive({
        sessionKey,
        source: 'cli',
        body: { n: 1 },
      });
      const lease = await store.lease(id, { waitMs: 0 });
      const waiting = await lease.release();
      assert.equal(waiting?.inboxId, inboxId);
      assert.equal(waiting?.state, 'accepted');
      assert.deepEqual(waiting?.body, { n: 1 });
      assert.equal(lease.signal.aborted, false);
      await refused(store.lease(id, { waitMs: 0 }), 'LEASE_HELD');
      const taken = await store.inbox.take(id, { epoch: lease.epoch });
      assert.equal(taken?.inboxId, inboxId);
      await store.append(id, [user('run')], { epoch: lease.epoch });
      await store.inbox.settle(inboxId, 'done');
      assert.equal(await lease.release(), null);
      const next = await store.lease(id, { waitMs: 0 });
      assert.equal(await next.release(), null);
    },
  },
  {
    name: 'held sessions are listed with their holder',
    promise: 'P9: users can see which process runs a session',
    area: 'lease',
    async run({ store }) {
      const [one, two] = [await session(store), await session(store)];
      const leases = [await store.lease(one, { waitMs: 0 }), await store.lease(two, { waitMs: 0 })];
      const listed = (await store.leases()).filter(({ alive }) => alive);
      assert.deepEqual(
        listed.map(({ sessionId, epoch }) => `${sessionId} ${epoch}`).sort(),
        leases.map(({ sessionId, epoch }) => `${sessionId} ${epoch}`).sort(),
      );
      for (const { holder } of listed) assert.ok(isObject(holder));
      for (const lease of leases) await lease.release();
      assert.deepEqual(
        (await store.leases()).filter(({ alive }) => alive),
        [],
      );
    },
  },
  {
    name: 'a lease ends with the block that holds it',
    promise: 'P4: an error leaves nothing locked',
    area: 'lease',
    async run({ store }) {
      const id = await session(store);
      const work = async (): Promise<void> => {
        await using _lease = await store.lease(id, { waitMs: 0 });
        throw new RangeError('in the middle of a turn');
      };
      await assert.rejects(work(), RangeError);
      const next = await store.lease(id, { waitMs: 0 });
      await next.release();
    },
  },
];
