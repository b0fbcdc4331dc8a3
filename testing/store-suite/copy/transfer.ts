/* Long: one case for each thing that a copy must carry over. */

import assert from 'node:assert/strict';
import { RepriseError } from '../../../src/errors.ts';
import type { Inbound, InboxItem } from '../../../src/store/port/inbox.ts';
import type { NewEntry, Store } from '../../../src/store/port/store.ts';
import type { TransferRecord } from '../../../src/store/port/transfer.ts';
import {
  assistant,
  beforeAndAfter,
  compaction,
  KEY,
  leafMove,
  note,
  readEntries,
  refused,
  session,
  until,
  user,
} from '../kit.ts';
import type { StoreCase } from '../store-case.ts';
import { copyAll, pagesOf, RUN, sameStores } from './transfer-kit.ts';

const PICTURE: NewEntry = {
  type: 'message',
  message: {
    role: 'user',
    content: [{ type: 'image', data: Buffer.alloc(90_000, 'px').toString('base64'), mimeType: 'image/png' }],
  },
};
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

const inbound = (idempotencyKey: string, more: Partial<Inbound> = {}): Inbound => ({
  sessionKey: KEY,
  source: 'case',
  idempotencyKey,
  body: { text: `${idempotencyKey} \ud800 \u0000`, n: [1, null] },
  ...more,
});

const GROUP = 'agent:main:telegram:group:42';

export const transferCases: readonly StoreCase[] = [
  {
    name: 'a copy of a store gives the same answers as the store',
    promise: 'T24, I-67: copying loses and changes nothing',
    area: 'transfer',
    async run({ store, another, reopen }) {
      const source = await another();
      await fill(source);
      await copyAll(source, store);
      await sameStores(source, store);
      await store.transfer.finish(RUN);
      await sameStores(source, await reopen());
    },
  },
  {
    name: 'a copy knows the idempotency keys of its source',
    promise: 'P2: a retry after the move is answered and not repeated',
    area: 'transfer',
    async run({ store, another }) {
      const source = await another();
      const id = await session(source, ['a']);
      await source.activate(KEY, id);
      const receipt = await source.append(id, [user('b'), user('c')], { key: 'once' });
      const first = await source.inbox.receive(inbound('m1'));
      const long = await source.inbox.receive(inbound('long'.repeat(500)));
      await copyAll(source, store);
      await store.transfer.finish(RUN);
      assert.equal((await store.inbox.receive(inbound('long'.repeat(500)))).inboxId, long.inboxId);
      assert.deepEqual(await store.append(id, [user('b'), user('c')], { key: 'once' }), receipt);
      await refused(store.append(id, [user('other')], { key: 'once' }), 'KEY_REUSED');
      const again = await store.inbox.receive(inbound('m1'));
      assert.equal(again.inboxId, first.inboxId);
      assert.equal(again.fresh, false);
      await refused(store.inbox.receive(inbound('m1', { body: { other: true } })), 'KEY_REUSED');
    },
  },
  {
    name: 'repeated records change nothing, and a copy can resume from every page',
    promise: 'P2: an interrupted copy can be resumed',
    area: 'transfer',
    async run({ store, another, reopen }) {
      const source = await another();
      await fill(source);
      for (const text of ['x'.repeat(600_000), 'y'.repeat(600_000)]) await session(source, [text], GROUP);
      let target = store;
      let pages = 0;
      for (let cursor: string | null | undefined; cursor !== null; pages++) {
        const page = await source.transfer.read(cursor);
        const records = { run: RUN, cursor: page.cursor };
        await target.transfer.write(page.records, records);
        await target.transfer.write(page.records, records);
        target = await reopen();
        const { run } = await target.transfer.state();
        assert.deepEqual(run, { run: RUN, cursor: page.cursor, finished: false });
        ({ cursor } = page);
      }
      assert.ok(pages > 1, 'this much is more than one page');
      await copyAll(source, target);
      await sameStores(source, target);
    },
  },
  {
    name: 'a second pass adds new data and removes purged sessions',
    promise: 'I-67: a copy can catch up',
    area: 'transfer',
    async run({ store, another }) {
      const source = await another();
      const { id, gone, item } = await fill(source);
      await copyAll(source, store);
      await source.append(id, [user('later'), PICTURE], { key: 'later' });
      await source.inbox.settle(item, 'done', { seq: 3 });
      await source.inbox.receive(inbound('m-later'));
      await source.convlog.append([
        { agentId: 'main', channelType: 'telegram', channelId: '42', role: 'user', content: 'later' },
      ]);
      await session(source, ['new'], GROUP);
      await source.purge(gone);
      await source.delete(id);
      await copyAll(source, store);
      await sameStores(source, store);
      await refused(store.get(gone), 'GONE');
    },
  },
  {
    name: 'a key whose session was purged while it was copied can be used again',
    promise: 'I-67: a session missing in the source does not block its key in the copy',
    area: 'transfer',
    async run({ store, another }) {
      const source = await another();
      const { sessionId } = await source.inbox.receive(inbound('m1'));
      const { records } = await source.transfer.read();
      await source.delete(sessionId);
      await source.purge(sessionId);
      const gone: TransferRecord = { kind: 'purged', id: sessionId };
      await store.transfer.write([...records, gone], { run: RUN, cursor: null });
      await store.transfer.finish(RUN);
      assert.equal(await store.active(KEY), undefined);
      assert.notEqual((await store.inbox.receive(inbound('m2'))).sessionId, sessionId);
    },
  },
  {
    name: 'a copy with held messages runs none of them until they are released',
    promise: 'P6: no message is answered twice, and only the owner decides what runs',
    area: 'transfer',
    async run({ store, reopen }) {
      const item = (n: number, state: InboxItem['state']): TransferRecord => ({
        kind: 'item',
        item: {
          inboxId: `m${n}`,
          sessionId: 's1',
          sessionKey: KEY,
          state,
          class: 'message',
          body: { text: `message ${n}` },
          attempts: state === 'running' ? 1 : 0,
          createdAt: '2026-01-01T00:00:00.000Z',
        },
      });
      const place = { run: 'a restore', cursor: null };
      await store.transfer.write([item(1, 'running'), item(2, 'accepted'), item(3, 'done')], place);
      await store.transfer.finish('a restore', { hold: true });
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.deepEqual(await open.inbox.pending(), []);
        const held = await open.transfer.held();
        assert.deepEqual(
          held.map(({ inboxId, state, body }) => [inboxId, state, body['text']]),
          [
            ['m1', 'held', 'message 1'],
            ['m2', 'held', 'message 2'],
          ],
        );
      }
      const reopened = await reopen();
      assert.equal(await reopened.transfer.release(), 2);
      assert.deepEqual(
        (await reopened.inbox.pending()).map(({ inboxId, state, detail }) => [inboxId, state, detail]),
        [
          ['m1', 'running', undefined],
          ['m2', 'accepted', undefined],
        ],
      );
      assert.equal(await reopened.transfer.release({ cancel: true }), 0);
      assert.equal((await reopened.inbox.get('m3')).state, 'done');
    },
  },
  {
    name: 'a store refuses writes while a copy into it is unfinished',
    promise: 'P1: a partial copy is never mistaken for a complete one',
    area: 'transfer',
    async run({ store, another }) {
      const source = await another();
      const { id } = await fill(source);
      await copyAll(source, store);
      const writes = [
        () => store.create({ key: GROUP }),
        () => store.append(id, [user('no')]),
        () => store.inbox.receive(inbound('no')),
        () => store.lease(id, { waitMs: 0 }),
        () => store.delete(id),
        () => store.convlog.append([]),
      ];
      for (const write of writes) await refused(write(), 'STORE_READ_ONLY');
      await sameStores(source, store);
      await store.transfer.finish(RUN);
      await store.append(id, [user('yes')]);
    },
  },
  {
    name: 'a store with data or with another copy refuses a copy',
    promise: 'P1: data is neither mixed nor overwritten',
    area: 'transfer',
    async run({ store, another }) {
      const source = await another();
      await fill(source);
      const used = await another();
      const id = await session(used, ['mine']);
      assert.deepEqual(await used.transfer.state(), { empty: false });
      await refused(copyAll(source, used), 'INVALID_INPUT');
      assert.equal((await used.list({ status: 'any' })).sessions.length, 1);
      assert.equal((await used.get(id)).messageCount, 1);
      assert.deepEqual(await store.transfer.state(), { empty: true });
      await copyAll(source, store);
      await refused(store.transfer.write([], { run: 'another', cursor: null }), 'INVALID_INPUT');
      await refused(store.transfer.finish('another'), 'INVALID_INPUT');
      await store.transfer.finish(RUN);
      await store.transfer.finish(RUN);
      await refused(store.transfer.write([], { run: RUN, cursor: null }), 'INVALID_INPUT');
      await sameStores(source, store);
    },
  },
  {
    name: 'a copy never grants an epoch of its source again',
    promise: 'P5, I-15: a lease holder of the source cannot write to the copy',
    area: 'transfer',
    async run({ store, another }) {
      const source = await another();
      const id = await session(source, ['a']);
      const held = await source.lease(id, { waitMs: 0 });
      await copyAll(source, store);
      await store.transfer.finish(RUN);
      assert.deepEqual(await store.leases(), []);
      await refused(store.append(id, [user('stale')], { epoch: held.epoch }), 'FENCED');
      // Granted by the source after the copy was made.
      await held.release();
      const later = await source.lease(id, { waitMs: 0 });
      const lease = await store.lease(id, { waitMs: 0 });
      assert.ok(lease.epoch > later.epoch + 1000, 'epochs continue far above those of the source');
      await refused(store.append(id, [user('stale')], { epoch: later.epoch }), 'FENCED');
      await store.append(id, [assistant('new')], { epoch: lease.epoch });
      await lease.release();
      await later.release();
    },
  },
  {
    name: 'a message that was running is an orphan in the copy',
    promise: 'P6: an accepted message ends exactly once, on any store',
    area: 'transfer',
    async run({ store, another }) {
      const source = await another();
      const { inboxId, sessionId } = await source.inbox.receive(inbound('m1'));
      await source.inbox.receive(inbound('m2'));
      const held = await source.lease(sessionId, { waitMs: 0 });
      await source.inbox.take(sessionId, { epoch: held.epoch });
      await copyAll(source, store);
      await store.transfer.finish(RUN);
      assert.equal((await store.inbox.get(inboxId)).state, 'running');
      const lease = await store.lease(sessionId, { waitMs: 0 });
      const orphan = await store.inbox.take(sessionId, { epoch: lease.epoch, orphans: true });
      assert.equal(orphan?.inboxId, inboxId);
      assert.equal(orphan?.attempts, 2);
      await store.inbox.settle(inboxId, 'done');
      await lease.release({ handOver: true });
      await held.release({ handOver: true });
    },
  },
  {
    name: 'a copy refuses bytes that do not match their seal',
    promise: 'I-10: damage in transit is detected on arrival',
    area: 'transfer',
    async run({ store, another }) {
      const source = await another();
      const id = await session(source, ['a', 'b']);
      await source.append(id, [PICTURE]);
      const flip = (record: TransferRecord, kind: 'lines' | 'blob'): TransferRecord => {
        if (record.kind !== kind) return record;
        const bytes = Buffer.from(record.bytes);
        bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
        return { ...record, bytes };
      };
      for (const kind of ['lines', 'blob'] as const) {
        const target = await another();
        const spoilt = pagesOf(source, (record) => flip(record, kind));
        const error = await copyAll(spoilt, target).then(
          () => assert.fail('it was taken'),
          (reason: unknown) => reason,
        );
        assert.ok(error instanceof RepriseError && error.code === 'STORE_CORRUPT', String(error));
      }
      await copyAll(source, store);
      await sameStores(source, store);
    },
  },
  {
    name: 'a copy made during writes has only whole appends and everything written before',
    promise: 'T28, I-68: a prefix of each history, never torn',
    area: 'transfer',
    async run({ store, another }) {
      const source = await another();
      const ids = await Promise.all(
        ['a', 'b', 'c'].map((name) => session(source, [name], `agent:${name}:main`)),
      );
      const before = await Promise.all(ids.map((id) => source.get(id)));
      let isOver = false;
      const writers = ids.map(async (id, n) => {
        for (let i = 0; !isOver; i++)
          await source.append(id, [
            user(`${n} ${i}`),
            note('n', { i }),
            assistant('o'.repeat(4000)),
            user('!'),
          ]);
      });
      try {
        for (const [n, id] of ids.entries())
          await until(async () => (await source.get(id)).lastSeq > (before[n]?.lastSeq ?? 0), 'a writer');
        await copyAll(source, store);
      } finally {
        isOver = true;
        await Promise.all(writers);
      }
      for (const [n, id] of ids.entries()) {
        const copied = Buffer.from(await store.exportSession(id));
        const whole = Buffer.from(await source.exportSession(id));
        assert.ok(whole.subarray(0, copied.length).equals(copied), 'a copy is a prefix');
        const { lastSeq } = await store.get(id);
        assert.ok(lastSeq >= (before[n]?.lastSeq ?? 0), 'it contains everything from before');
        assert.equal((lastSeq - (before[n]?.lastSeq ?? 0)) % 4, 0, 'no append is torn');
      }
    },
  },
  {
    name: 'a large store is copied in small pages',
    promise: 'P7: copying costs no more memory for a longer history',
    area: 'transfer',
    async run({ store }) {
      const id = await session(store);
      for (let i = 0; i < 30; i++) await store.append(id, [user(String(i).repeat(200_000))]);
      let bytes = 0;
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await store.transfer.read(cursor);
        const size = page.records.reduce(
          (sum, record) => sum + ('bytes' in record ? record.bytes.length : 0),
          0,
        );
        assert.ok(size <= MAX_PAGE_BYTES, `a page of ${size} bytes`);
        bytes += size;
        ({ cursor } = page);
      }
      assert.equal(bytes, (await store.exportSession(id)).length);
      await refused(store.transfer.read('not a cursor'), 'INVALID_INPUT');
    },
  },
];

/** A store with data of every kind. */
async function fill(
  store: Store,
): Promise<{ readonly id: string; readonly gone: string; readonly item: string }> {
  const id = await session(store, ['first \ud800 words', 'second']);
  await store.activate(KEY, id, { reason: 'case' });
  await store.append(id, [PICTURE, assistant('nice')], { key: 'picture' });
  await store.patch(id, { label: 'named', model: 'm' });
  const [first] = await readEntries(store, id);
  const lease = await store.lease(id, { waitMs: 0 });
  await store.append(id, [leafMove(first?.id ?? null), user('again')], { epoch: lease.epoch });
  await store.append(id, [compaction('so far', first?.id ?? '')], { epoch: lease.epoch });
  await lease.release();
  const log = { agentId: 'main', channelType: 'telegram', channelId: '42', role: 'user' as const };
  const { inboxId: item } = await store.inbox.receive(
    inbound('m1', { log: { ...log, content: 'hi \ud800', sender: { id: '7', name: 'Ann' } } }),
  );
  const { inboxId: done } = await store.inbox.receive(
    inbound('m2', { group: { name: 'g' }, class: 'system' }),
  );
  await store.inbox.settle(done, 'failed', { code: 'MODEL_FAILED' });
  await store.inbox.receive(inbound('c1', { class: 'command' }));
  await store.inbox.receive(inbound('g1', { sessionKey: GROUP, reset: { reason: 'new' } }));
  await store.convlog.append([
    { ...log, channelId: 'other\u0000', content: 'one' },
    { ...log, role: 'assistant', content: 'two', sessionId: id, messageId: 'm' },
  ]);
  const gone = await session(store, ['to go'], 'agent:main:old');
  await store.activate('agent:main:old', gone);
  await store.inbox.receive(inbound('o1', { sessionKey: 'agent:main:old' }));
  await store.delete(gone);
  const purged = await session(store, ['permanently'], 'agent:main:older');
  await store.delete(purged);
  await store.purge(purged);
  return { id, gone, item };
}
