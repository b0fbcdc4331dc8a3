import assert from 'node:assert/strict';
import type { Inbound } from '../../../src/store/port/inbox.ts';
import type { Store } from '../../../src/store/port/store.ts';
import type { JsonObject } from '../../../src/transcript/json.ts';
import { beforeAndAfter, range, readEntries, refused, session } from '../kit.ts';
import type { StoreCase } from '../store-case.ts';

const BOB = 'agent:main:telegram:direct:bob';
const inbound = (more: Partial<Inbound> = {}): Inbound => ({
  sessionKey: BOB,
  source: 'telegram',
  body: { text: 'hi' },
  ...more,
});

export const resetCases: readonly StoreCase[] = [
  {
    name: 'messages that see the same session expire reset it once',
    promise: 'P6: no message lands in a session without its history',
    area: 'inbox',
    async run({ store }) {
      const { sessionId: old } = await store.inbox.receive(inbound());
      const reset = { reason: 'daily', from: old };
      const receipts = await Promise.all(range(1, 10).map(() => store.inbox.receive(inbound({ reset }))));
      const [fresh] = receipts;
      assert.ok(fresh !== undefined && fresh.sessionId !== old);
      for (const { sessionId } of receipts) assert.equal(sessionId, fresh.sessionId);
      const made = receipts.flatMap(({ created }) => created ?? []);
      assert.deepEqual(made, [{ replaced: old }]);
      assert.equal((await store.list()).sessions.length, 2);
      const late = await store.inbox.receive(inbound({ reset }));
      assert.equal(late.sessionId, fresh.sessionId, 'one that comes later joins them');
      const asked = await store.inbox.receive(inbound({ reset: { reason: 'asked for' } }));
      assert.deepEqual(asked.created, { replaced: fresh.sessionId }, 'without `from` it is always done');
    },
  },
  {
    name: 'a reset carries all settings over except those it forgets',
    promise: 'P9: a new conversation is with the same person',
    area: 'inbox',
    async run({ store, reopen }) {
      const { sessionId: old } = await store.inbox.receive(
        inbound({ create: { settings: { model: 'large', thinking: 'high', count: 3, gone: 1 } } }),
      );
      await store.patch(old, { verbose: true, gone: null });
      const { sessionId } = await store.inbox.receive(
        inbound({
          reset: { reason: 'asked for', forget: ['count', 'never there'] },
          create: { settings: { thinking: 'low', verbose: null } },
        }),
      );
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.deepEqual((await open.get(sessionId)).settings, { model: 'large', thinking: 'low' });
        const before = { model: 'large', thinking: 'high', count: 3, verbose: true };
        assert.deepEqual((await open.get(old)).settings, before, 'the old session keeps its own');
      }
    },
  },
  {
    name: 'a reset links both sessions and records its reason',
    promise: 'P3: a reset destroys nothing, and the old session can be found',
    area: 'inbox',
    async run({ store, reopen }) {
      const { sessionId: old } = await store.inbox.receive(inbound());
      const { sessionId: fresh } = await store.inbox.receive(
        inbound({ reset: { reason: 'idle' }, create: { id: 'fresh', parentId: 'elsewhere' } }),
      );
      assert.equal(fresh, 'fresh');
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.equal((await open.get(fresh)).parentId, old);
        assert.deepEqual(await noted(open, old, 'reset'), [{ next: fresh, reason: 'idle' }]);
        assert.deepEqual(await noted(open, fresh, 'reset'), []);
        const [activation] = await noted(open, fresh, 'activate');
        assert.equal(activation?.['reason'], 'idle');
        assert.equal((await open.get(old)).leaf, null, 'a note moves no leaf');
      }
    },
  },
  {
    name: 'a message can set the settings of the session it creates',
    promise: 'P6: a message is accepted with everything it needs',
    area: 'inbox',
    async run({ store }) {
      const parentId = await session(store);
      const create = { id: 'child-1', parentId, settings: { depth: 1 } };
      const first = await store.inbox.receive(inbound({ create }));
      assert.equal(first.sessionId, 'child-1');
      assert.deepEqual(first.created, { replaced: null });
      const record = await store.get('child-1');
      assert.deepEqual([record.parentId, record.settings], [parentId, { depth: 1 }]);
      const second = await store.inbox.receive(
        inbound({ create: { id: 'child-2', settings: { depth: 2 } } }),
      );
      assert.deepEqual([second.sessionId, second.created], ['child-1', undefined], 'it is there already');
      assert.deepEqual((await store.get('child-1')).settings, { depth: 1 });
      await refused(store.get('child-2'), 'SESSION_NOT_FOUND');
    },
  },
  {
    name: 'a refused reset changes nothing',
    promise: 'P2: a message is accepted, or certainly not',
    area: 'inbox',
    async run({ store }) {
      const { sessionId: old } = await store.inbox.receive(inbound());
      const other = await session(store);
      const { lastSeq } = await store.get(old);
      const reset = { reason: 'asked for' };
      const taken = inbound({ reset, create: { id: other }, idempotencyKey: 'm1' });
      await refused(store.inbox.receive(taken), ['SESSION_EXISTS', 'INVALID_INPUT']);
      await refused(store.inbox.receive({ ...taken, create: { id: 'no/id' } }), 'INVALID_ID');
      const huge = inbound({ reset, create: { id: 'huge', settings: { x: 'x'.repeat(17 * 1024 * 1024) } } });
      await refused(store.inbox.receive(huge), 'LIMIT_EXCEEDED');
      assert.equal((await store.active(BOB))?.id, old);
      assert.equal((await store.get(old)).lastSeq, lastSeq);
      assert.equal((await store.inbox.pending()).length, 1);
      assert.equal((await store.list()).sessions.length, 2);
      await refused(store.get('huge'), 'SESSION_NOT_FOUND');
      const { create: _create, ...fine } = taken;
      assert.equal((await store.inbox.receive(fine)).fresh, true, 'its key was not spent');
    },
  },
  {
    name: 'switching a key records the reason',
    promise: 'P9: what was done can be explained',
    area: 'inbox',
    async run({ store }) {
      const id = await session(store, [], BOB);
      await store.activate(BOB, id, { reason: 'resumed' });
      assert.equal((await noted(store, id, 'activate')).at(-1)?.['reason'], 'resumed');
    },
  },
];

/** The data of the side entries with one name. */
async function noted(store: Store, id: string, name: string): Promise<JsonObject[]> {
  const entries = await readEntries(store, id);
  return entries
    .filter(({ customType }) => customType === `reprise.${name}`)
    .map(({ data }) => data as JsonObject);
}
