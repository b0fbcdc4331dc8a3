import assert from 'node:assert/strict';
import type { Note } from '../../../src/store/port/notes.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { beforeAndAfter, range, refused, session } from '../kit.ts';
import type { StoreCase } from '../store-case.ts';

export const noteCases: readonly StoreCase[] = [
  {
    name: 'a session has one note of each name',
    promise: 'P7: a computed value is not computed again',
    area: 'notes',
    async run({ store, reopen }) {
      const id = await session(store, ['a']);
      const note = { id, seq: 2, value: { sum: 0.1, text: 'a\u0000 "ü"\n', list: [null, true] } };
      assert.equal(await store.notes.get('one', id), undefined);
      await store.notes.put('one', [{ ...note, seq: 1 }, note]);
      await store.notes.put('two', [{ id, seq: 1, value: {} }]);
      const before = await store.exportSession(id);
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.deepEqual(await open.notes.get('one', id), note);
        assert.deepEqual(await open.notes.get('two', id), { id, seq: 1, value: {} });
        assert.equal(await open.notes.get('three', id), undefined);
        assert.deepEqual(await open.exportSession(id), before, 'a transcript knows nothing of notes');
      }
    },
  },
  {
    name: 'the pages of notes contain every note of a name once',
    promise: 'P7: a computed value is not computed again',
    area: 'notes',
    async run({ store }) {
      const notes: Note[] = [];
      for (const i of range(1, 11)) notes.push({ id: await session(store), seq: i, value: { i } });
      await store.notes.put('one', notes);
      await store.notes.put('other', notes.slice(3, 5));
      for (const limit of [1, 4, 11, 100]) assert.deepEqual(await all(store, 'one', limit), sorted(notes));
      assert.deepEqual(await all(store, 'other', 1), sorted(notes.slice(3, 5)));
      assert.deepEqual(await store.notes.list('none'), { notes: [], next: null });
    },
  },
  {
    name: 'purged and missing sessions have no notes',
    promise: 'P3: purged data is gone',
    area: 'notes',
    async run({ store }) {
      const [kept, gone] = [await session(store), await session(store)];
      const both = [kept, gone].map((id) => ({ id, seq: 1, value: {} }));
      await store.notes.put('one', [...both, { id: 'nobody', seq: 1, value: {} }]);
      assert.deepEqual(await all(store, 'one', 10), sorted(both));
      await store.delete(gone);
      assert.equal((await all(store, 'one', 10)).length, 2, 'the trash keeps everything');
      await store.purge(gone);
      await store.notes.put('one', both);
      assert.deepEqual(
        (await all(store, 'one', 10)).map(({ id }) => id),
        [kept],
      );
    },
  },
  {
    name: 'invalid notes are refused',
    promise: 'P2: data that is not stored is refused',
    area: 'notes',
    async run({ store }) {
      const id = await session(store);
      await refused(store.notes.put('', [{ id, seq: 1, value: {} }]), 'INVALID_INPUT');
      await refused(store.notes.put('one', [{ id, seq: -1, value: {} }]), 'INVALID_INPUT');
      await refused(store.notes.put('one', [{ id, seq: 1, value: [] as never }]), 'INVALID_INPUT');
      await refused(
        store.notes.put(
          'one',
          range(1, 1001).map((seq) => ({ id, seq, value: {} })),
        ),
        'LIMIT_EXCEEDED',
      );
      assert.deepEqual(await all(store, 'one', 10), []);
    },
  },
];

async function all(store: Store, name: string, limit: number): Promise<readonly Note[]> {
  const found: Note[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const page = await store.notes.list(name, { limit, ...(after !== '' && { after }) });
    found.push(...page.notes);
    after = page.next;
    assert.ok(found.length < 100, 'a list has an end');
  }
  return found;
}

function sorted(notes: readonly Note[]): readonly Note[] {
  return notes.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
