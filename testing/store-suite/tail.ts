import assert from 'node:assert/strict';
import type { Store } from '../../src/store/port/store.ts';
import { entryIdForSeq } from '../../src/transcript/entry-id.ts';
import { selectContext } from '../../src/transcript/render/select.ts';
import {
  appendOne,
  assistant,
  beforeAndAfter,
  compaction,
  entriesOf,
  leafMove,
  range,
  readAll,
  readEntries,
  refused,
  session,
  user,
} from './kit.ts';
import type { StoreCase } from './store-case.ts';

export const tailCases: readonly StoreCase[] = [
  {
    name: 'the tail of a session without compaction is the whole session',
    promise: 'P4: the context contains the whole conversation',
    area: 'read',
    async run({ store }) {
      const id = await session(store);
      assert.deepEqual(entriesOf((await store.tail(id)).entries), []);
      for (const i of range(1, 30)) await store.append(id, [user(`${i}`), assistant(`${i}`)]);
      const tail = await store.tail(id);
      assert.deepEqual(entriesOf(tail.entries), await readEntries(store, id));
      assert.equal(tail.lastSeq, 61);
    },
  },
  {
    name: 'a tail can be limited to its newest entries and to some kinds',
    promise: 'P7: a read costs only what it returns',
    area: 'read',
    async run({ store, reopen }) {
      const id = await session(store);
      const pin = { type: 'custom', customType: 'reprise.pin', data: { entryId: 'x', text: 'keep "me"' } };
      const talk = user('about "reprise.pin" and "type":"compaction"');
      for (const i of range(1, 15)) await store.append(id, [user(`${i}`), assistant(`${i}`)]);
      await store.append(id, [pin, talk]);
      const other = await session(store, ['a', 'b', 'c']);
      const kept = (await readEntries(store, other)).at(-2)?.id ?? '';
      await store.append(other, [compaction('short', kept), user('after')]);
      const kinds = (await store.tail(other, { only: ['compaction'] })).entries.map(
        ({ entry }) => entry.type,
      );
      assert.deepEqual(kinds, ['compaction']);
      assert.equal(
        (await store.tail(other, { limit: 100 })).hasMore,
        false,
        'what was compacted is not missing',
      );
      for await (const open of beforeAndAfter({ store, reopen })) {
        const whole = await open.tail(id);
        for (const limit of [1, 7, 31]) {
          const { entries, lastSeq, hasMore } = await open.tail(id, { limit });
          assert.deepEqual(entries, whole.entries.slice(-limit), `the newest ${limit}`);
          assert.deepEqual([lastSeq, hasMore], [whole.lastSeq, true]);
        }
        assert.deepEqual(await open.tail(id, { limit: 32 }), whole);
        const pins = await open.tail(id, { only: ['reprise.pin', 'compaction'] });
        assert.deepEqual(
          pins,
          { ...whole, entries: whole.entries.filter(({ seq }) => seq === 32) },
          'only what was asked for',
        );
        await refused(open.tail(id, { limit: 0 }), 'INVALID_INPUT');
      }
    },
  },
  {
    name: 'after a compaction the tail has the kept entries and everything after it',
    promise: 'I-6, P4: every entry is summarized or kept',
    area: 'read',
    async run({ store, reopen }) {
      for (const k of [0, 1, 5, 9]) {
        const id = await session(store, range(1, 10).map(String));
        const kept = (await readEntries(store, id))[k];
        assert.ok(kept !== undefined);
        await store.append(id, [compaction(`summary ${k}`, kept.id)]);
        await assertSameContext(store, id, kept.id);
        await store.append(id, [user('after'), assistant('after')]);
        await assertSameContext(store, id, kept.id);
      }
      const reopened = await reopen();
      for (const { id } of (await reopened.list()).sessions) await assertSameContext(reopened, id);
    },
  },
  {
    name: 'after several compactions the last one decides',
    promise: 'I-6, P4: every entry is summarized or kept',
    area: 'read',
    async run({ store, reopen }) {
      const id = await session(store, range(1, 6).map(String));
      for (const round of range(1, 4)) {
        const entries = await readEntries(store, id);
        const kept = entries.at(round % 2 === 0 ? -1 : -3);
        await store.append(id, [compaction(`round ${round}`, kept?.id ?? ''), user(`after ${round}`)]);
        await assertSameContext(store, id, kept?.id);
      }
      await assertSameContext(await reopen(), id);
    },
  },
  {
    name: 'a compaction that keeps nothing leaves its summary and later entries',
    promise: 'I-6: every entry is summarized or kept',
    area: 'read',
    async run({ store }) {
      const id = await session(store, ['a', 'b']);
      // It names itself: the fourth line, whose id is known in advance (I-2).
      const { id: nothing } = await appendOne(store, id, compaction('all of it', entryIdForSeq(4)));
      assert.equal(nothing, entryIdForSeq(4));
      await store.append(id, [user('c')]);
      await assertSameContext(store, id, nothing);
    },
  },
  {
    name: 'undoing a compaction restores the old context in the tail',
    promise: 'P3, P9: compaction destroys nothing and can be undone',
    area: 'read',
    async run({ store, reopen }) {
      const id = await session(store, range(1, 8).map(String));
      const entries = await readEntries(store, id);
      const [first] = entries;
      const last = entries.at(-1);
      await store.append(id, [compaction('short', entries[6]?.id ?? ''), user('after')]);
      await assertSameContext(store, id);
      await store.append(id, [leafMove(last?.id ?? null)]);
      await assertSameContext(store, id, first?.id);
      await store.append(id, [user('another way')]);
      await assertSameContext(store, id, first?.id);
      const reopened = await reopen();
      await assertSameContext(reopened, id, first?.id);
      await reopened.append(id, [leafMove(null), user('from the start')]);
      await assertSameContext(reopened, id);
    },
  },
];

/** The model must see the same with the tail as with the whole history. */
async function assertSameContext(store: Store, id: string, contains?: string): Promise<void> {
  const all = await readAll(store, id);
  const page = await store.tail(id);
  assert.equal(page.lastSeq, all.length);
  const stored = page.entries.filter(({ entry }) => entry.type !== 'session');
  const first = stored[0]?.seq ?? all.length + 1;
  assert.deepEqual(
    stored,
    all.filter(({ seq }) => seq >= first && seq > 1),
    'the tail is the end of the history',
  );
  const whole = selectContext(entriesOf(all));
  const tail = selectContext(entriesOf(stored));
  assert.deepEqual(tail.compaction?.['summary'], whole.compaction?.['summary']);
  assert.deepEqual(tail.entries, whole.entries);
  if (contains !== undefined) assert.ok(entriesOf(stored).some((entry) => entry.id === contains));
}
