import assert from 'node:assert/strict';
import type { NewEntry } from '../../src/store/port/store.ts';
import type { Entry } from '../../src/transcript/entry.ts';
import { entryIdForSeq } from '../../src/transcript/entry-id.ts';
import {
  assistant,
  beforeAndAfter,
  bodyOf,
  entriesOf,
  entryAt,
  isEntry,
  KEY,
  note,
  range,
  readAll,
  readEntries,
  refused,
  seqsOf,
  session,
  textOf,
  user,
} from './kit.ts';
import type { StoreCase } from './store-case.ts';

export const appendCases: readonly StoreCase[] = [
  {
    name: 'appended entries are read back unchanged and in order',
    promise: 'P1: an acknowledged append is stored unchanged',
    area: 'append',
    async run({ store }) {
      const id = await session(store);
      const given: NewEntry[] = [
        user('hello'),
        assistant('hi'),
        { type: 'model_change', provider: 'p', modelId: 'm' },
        {
          type: 'custom_message',
          customType: 'x',
          content: 'seen',
          display: true,
          details: { a: [1, [], {}] },
        },
        { type: 'never_heard_of', '': 0, list: [null, true, 1.5, -1e-7, 'x'], nested: { b: 1, a: 2 } },
        note('turn', { n: 1 }),
        { type: 'usage', input: 3 },
      ];
      for (const entry of given) await store.append(id, [entry]);
      const entries = await readEntries(store, id);
      assert.deepEqual(entries.map(bodyOf), given);
      // The order of keys is part of the bytes, and callers read back their own objects.
      assert.deepEqual(
        entries.map((entry) => JSON.stringify(bodyOf(entry))),
        given.map((entry) => JSON.stringify(entry)),
      );
    },
  },
  {
    name: 'an acknowledged append survives closing and reopening the store',
    promise: 'P1: acknowledged is durable',
    area: 'append',
    async run({ store, reopen }) {
      const id = await session(store, ['one', 'two']);
      await store.append(id, [user('three'), assistant('four')]);
      const { lastSeq } = await store.append(id, [user('the last one')]);
      const before = await readAll(store, id);
      const record = await store.get(id);
      const reopened = await reopen();
      assert.deepEqual(await readAll(reopened, id), before);
      assert.deepEqual(await reopened.get(id), record);
      assert.equal((await reopened.append(id, [user('next')])).firstSeq, lastSeq + 1);
    },
  },
  {
    name: 'entry ids follow from the seq, and times are ISO and never go backwards',
    promise: 'I-2: the same history has the same ids on every store',
    area: 'append',
    async run({ store }) {
      const id = await session(store);
      for (const i of range(1, 5)) await store.append(id, [user(`${i}`), note('n'), assistant(`${i}`)]);
      let last = '';
      for (const { seq, entry } of await readAll(store, id)) {
        if (!isEntry(entry)) continue;
        assert.equal(entry.id, entryIdForSeq(seq));
        assert.equal(new Date(entry.timestamp).toISOString(), entry.timestamp);
        assert.ok(entry.timestamp >= last, 'a later line is not earlier');
        last = entry.timestamp;
      }
    },
  },
  {
    name: 'the parent of every entry is the leaf at the time of the append',
    promise: 'P5: a conversation is a single chain unless a caller branches it',
    area: 'append',
    async run({ store }) {
      const id = await session(store);
      await store.append(id, [user('a')]);
      await store.append(id, [note('n'), assistant('b'), user('c')]);
      await store.append(id, [assistant('d')]);
      const [a, n, b, c, d] = await readEntries(store, id);
      assert.equal(a?.parentId, null);
      assert.equal(n?.parentId, a?.id);
      assert.equal(b?.parentId, a?.id);
      assert.equal(c?.parentId, b?.id);
      assert.equal(d?.parentId, c?.id);
      assert.equal((await store.get(id)).leaf, d?.id);
    },
  },
  {
    name: 'concurrent appends to one session get seqs without gap or overlap',
    promise: 'P1, I-3: one gap-free order per session',
    area: 'append',
    async run({ store, reopen }) {
      const id = await session(store);
      const receipts = await Promise.all(
        range(1, 60).map((i) =>
          store.append(id, i % 3 === 0 ? [user(`${i}`), assistant(`${i}`)] : [user(`${i}`)]),
        ),
      );
      const seqs = receipts.flatMap(seqsOf).sort((a, b) => a - b);
      assert.deepEqual(seqs, range(2, 81));
      assert.deepEqual(
        (await readAll(store, id)).map(({ seq }) => seq),
        range(1, 81),
      );
      assert.deepEqual(
        (await readAll(await reopen(), id)).map(({ seq }) => seq),
        range(1, 81),
      );
    },
  },
  {
    name: 'every receipt of concurrent appends names the seqs of its entries',
    promise: 'P1: a seq in a receipt leads to the acknowledged entry',
    area: 'append',
    async run({ store }) {
      const id = await session(store);
      const places = await Promise.all(
        range(1, 40).map(async (i) => ({
          i,
          receipt: await store.append(id, [user(`a${i}`), user(`b${i}`)]),
        })),
      );
      for (const { i, receipt } of places) {
        assert.equal(receipt.lastSeq, receipt.firstSeq + 1);
        assert.equal(textOf(await entryAt(store, id, receipt.firstSeq)), `a${i}`);
        assert.equal(textOf(await entryAt(store, id, receipt.lastSeq)), `b${i}`);
      }
      assertOneChain(await readEntries(store, id));
    },
  },
  {
    name: 'concurrent appends to many sessions do not mix',
    promise: 'P1, P8: a session has all of its entries and no others',
    area: 'append',
    async run({ store, reopen }) {
      const ids = await Promise.all(range(1, 12).map((i) => session(store, [], `agent:main:direct:p${i}`)));
      await Promise.all(range(1, 15).flatMap((n) => ids.map((id) => store.append(id, [user(`${id} ${n}`)]))));
      const reopened = await reopen();
      for (const id of ids) {
        const stored = await readAll(reopened, id);
        assert.deepEqual(
          stored.map(({ seq }) => seq),
          range(1, 16),
        );
        const texts = entriesOf(stored).map(textOf);
        assert.deepEqual(
          [...texts].sort(),
          range(1, 15)
            .map((n) => `${id} ${n}`)
            .sort(),
        );
        assertOneChain(entriesOf(stored));
      }
    },
  },
  {
    name: 'a refused append does not affect acknowledged entries',
    promise: 'P1, P2: outcomes are per append',
    area: 'append',
    async run({ store, reopen }) {
      const id = await session(store);
      const first = await store.append(id, [user('safe')]);
      await refused(store.append(id, [user('stale')], { expectedLeaf: 'ffffffff' }), 'LEAF_MOVED');
      const [second, bad] = await Promise.allSettled([
        store.append(id, [user('safe too')]),
        store.append(id, [user('stale')], { expectedLeaf: 'ffffffff' }),
      ]);
      assert.equal(second.status, 'fulfilled');
      assert.equal(bad.status, 'rejected');
      assert.equal(first.firstSeq, 2);
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.deepEqual((await readEntries(open, id)).map(textOf), ['safe', 'safe too']);
      }
    },
  },
  {
    name: 'the entries of a big append are consecutive and complete',
    promise: 'P1: an append is atomic',
    area: 'append',
    async run({ store, reopen }) {
      const id = await session(store, ['before']);
      const texts = range(1, 300).map((i) => `${i} ${'x'.repeat(i * 10)}`);
      const [receipt] = await Promise.all([
        store.append(id, texts.map(user)),
        store.append(id, [user('beside')]),
      ]);
      assert.equal(receipt.lastSeq - receipt.firstSeq, 299);
      const page = await (await reopen()).read(id, { from: receipt.firstSeq, limit: 300 });
      assert.deepEqual(entriesOf(page.entries).map(textOf), texts);
    },
  },
  {
    name: 'changing an entry object after the call does not change the stored entry',
    promise: 'P3: nothing rewrites history',
    area: 'append',
    async run({ store }) {
      const { id } = await store.create({ key: KEY });
      const message = { role: 'user', content: 'original' };
      const { firstSeq } = await store.append(id, [{ type: 'message', message }]);
      message.content = 'changed after the answer';
      const read = await entryAt(store, id, firstSeq);
      assert.equal(textOf(read), 'original');
      // A store may return frozen entries; then this does nothing, as intended.
      Reflect.set(read['message'] as object, 'content', 'changed in the answer');
      assert.equal(textOf(await entryAt(store, id, firstSeq)), 'original');
    },
  },
];

function assertOneChain(entries: readonly Entry[]): void {
  let leaf: string | null = null;
  for (const entry of entries) {
    assert.equal(entry.parentId, leaf);
    leaf = entry.id;
  }
}
