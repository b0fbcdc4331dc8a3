import assert from 'node:assert/strict';
import type { NewEntry } from '../../src/store/port/store.ts';
import {
  appendOne,
  assistant,
  compaction,
  leafMove,
  note,
  readEntries,
  refused,
  session,
  textOf,
  user,
} from './kit.ts';
import type { StoreCase } from './store-case.ts';

export const leafCases: readonly StoreCase[] = [
  {
    name: 'entries of the conversation move the leaf, whatever their type',
    promise: 'P5: chain entries become the leaf',
    area: 'leaf',
    async run({ store }) {
      const id = await session(store);
      const first = await appendOne(store, id, user('a'));
      const chain: readonly NewEntry[] = [
        assistant('b'),
        { type: 'custom_message', customType: 'x', content: 'c', display: true },
        compaction('so far', first.id),
        { type: 'branch_summary', fromId: first.id, summary: 's' },
        { type: 'model_change', provider: 'p', modelId: 'm' },
        { type: 'thinking_level_change', thinkingLevel: 'high' },
        { type: 'context_edit', targetId: first.id, replacement: null },
        { type: 'custom', customType: 'someone.else', data: {} },
        { type: 'from_the_future', x: 1 },
      ];
      let leaf = first.id;
      for (const entry of chain) {
        const stored = await appendOne(store, id, entry);
        assert.equal(stored.parentId, leaf, `${entry.type} hangs at the leaf`);
        leaf = stored.id;
        assert.equal((await store.get(id)).leaf, leaf, `${entry.type} becomes the leaf`);
      }
    },
  },
  {
    name: 'side entries do not move the leaf',
    promise: 'P5: side entries are attached to the leaf and never become it',
    area: 'leaf',
    async run({ store, reopen }) {
      const id = await session(store);
      const early = await appendOne(store, id, note('early'));
      assert.equal(early.parentId, null);
      const { id: leaf } = await appendOne(store, id, user('a'));
      const sides: readonly NewEntry[] = [
        note('turn'),
        note('settings', { model: 'x' }),
        { type: 'label', targetId: leaf, label: 'here' },
        { type: 'session_info', name: 'a name' },
        { type: 'usage', input: 1 },
      ];
      for (const entry of sides) {
        assert.equal((await appendOne(store, id, entry)).parentId, leaf);
        assert.equal((await store.get(id)).leaf, leaf, `${entry.type} leaves the leaf alone`);
      }
      const reopened = await reopen();
      assert.equal((await reopened.get(id)).leaf, leaf);
      assert.equal((await appendOne(reopened, id, user('b'))).parentId, leaf);
    },
  },
  {
    name: 'the leaf survives closing and reopening the store',
    promise: 'P1: the current position of a conversation is durable',
    area: 'leaf',
    async run({ store, reopen }) {
      const id = await session(store, ['a', 'b', 'c']);
      const { leaf } = await store.get(id);
      assert.notEqual(leaf, null);
      const reopened = await reopen();
      assert.equal((await reopened.get(id)).leaf, leaf);
      assert.equal((await appendOne(reopened, id, user('d'), { expectedLeaf: leaf })).parentId, leaf);
    },
  },
  {
    name: 'after a leaf move the next entry is attached there, also after reopening',
    promise: 'P9: a user can go back, and later entries stay',
    area: 'leaf',
    async run({ store, reopen }) {
      const id = await session(store, ['a', 'b', 'c']);
      const [a, b] = await readEntries(store, id);
      assert.ok(a !== undefined && b !== undefined);
      const move = await appendOne(store, id, leafMove(a.id));
      assert.equal(move.parentId, a.id);
      assert.equal((await store.get(id)).leaf, a.id);
      const reopened = await reopen();
      assert.equal((await reopened.get(id)).leaf, a.id);
      assert.equal((await appendOne(reopened, id, note('n'))).parentId, a.id);
      assert.equal((await appendOne(reopened, id, user('b2'))).parentId, a.id);
      await reopened.append(id, [leafMove(b.id), user('c2')]);
      assert.equal((await readEntries(reopened, id)).at(-1)?.parentId, b.id);
      assert.equal((await appendOne(reopened, id, leafMove(null))).parentId, null);
      assert.equal((await appendOne(reopened, id, user('a2'))).parentId, null);
      const texts = (await readEntries(reopened, id)).map(textOf).filter((text) => text !== undefined);
      assert.deepEqual(texts, ['a', 'b', 'c', 'b2', 'c2', 'a2']);
    },
  },
  {
    name: 'a leaf move to a missing entry is refused',
    promise: 'I-5: every walk to the root ends at a root',
    area: 'leaf',
    async run({ store }) {
      const id = await session(store, ['a']);
      const elsewhere = await session(store, ['x', 'y', 'z']);
      const foreign = (await readEntries(store, elsewhere)).at(-1)?.id ?? '';
      const before = await store.get(id);
      for (const target of ['ffffffff', '', foreign]) {
        await refused(store.append(id, [leafMove(target)]), 'INVALID_INPUT');
      }
      await refused(store.append(id, [user('b'), leafMove('ffffffff')]), 'INVALID_INPUT');
      assert.deepEqual(await store.get(id), before);
    },
  },
  {
    name: 'an append that expects another leaf is refused and writes nothing',
    promise: 'P5: no answer is added to a conversation that has changed',
    area: 'leaf',
    async run({ store }) {
      const id = await session(store, ['a']);
      const before = await store.get(id);
      for (const expectedLeaf of [null, 'ffffffff']) {
        await refused(store.append(id, [user('b')], { expectedLeaf }), 'LEAF_MOVED');
      }
      assert.deepEqual(await store.get(id), before);
      await store.append(id, [user('b')], { expectedLeaf: before.leaf });
      const empty = await session(store);
      assert.deepEqual(await store.append(empty, [user('a')], { expectedLeaf: null }), {
        firstSeq: 2,
        lastSeq: 2,
      });
    },
  },
  {
    name: 'of many appends that expect the same leaf, exactly one succeeds',
    promise: 'P5: two writers never both answer',
    area: 'leaf',
    async run({ store }) {
      const id = await session(store, ['a']);
      const { leaf: expectedLeaf } = await store.get(id);
      const tries = Array.from({ length: 12 }, (_, i) => store.append(id, [user(`${i}`)], { expectedLeaf }));
      const results = await Promise.allSettled(tries);
      assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
      for (const result of results) {
        if (result.status === 'rejected') await refused(Promise.reject(result.reason), 'LEAF_MOVED');
      }
      assert.equal((await readEntries(store, id)).length, 2);
    },
  },
];
