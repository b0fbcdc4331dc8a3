import assert from 'node:assert/strict';
import type { SourceRecord } from '../../src/store/port/sources.ts';
import type { NewEntry, Store } from '../../src/store/port/store.ts';
import { beforeAndAfter, KEY, range, refused, session, user } from './kit.ts';
import type { StoreCase } from './store-case.ts';

/** Who a session belongs to, and where it came from. */
export const sourceCases: readonly StoreCase[] = [
  {
    name: 'a session belongs to the user it was created for, and so do sessions made from it',
    promise: 'P9: a user sees their own sessions',
    area: 'owner',
    async run({ store, reopen }) {
      const key = 'agent:main:direct:anna';
      const { id } = await store.create({ key, owner: 'anna', activate: true });
      const fork = await store.create({ key: 'agent:main:session:fork', parentId: id });
      const other = await store.create({ key: 'agent:main:session:other', parentId: id, owner: 'ben' });
      const free = await session(store, [], KEY);
      const reset = await store.inbox.receive({
        sessionKey: key,
        source: 's',
        body: {},
        reset: { reason: 'r' },
      });
      const made = await store.inbox.receive({
        sessionKey: 'agent:main:direct:carl',
        source: 's',
        body: {},
        create: { owner: 'carl' },
      });
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.equal((await open.get(id)).owner, 'anna');
        assert.equal((await open.get(fork.id)).owner, 'anna', 'a session made from it');
        assert.equal((await open.get(other.id)).owner, 'ben', 'a named user');
        assert.equal((await open.get(reset.sessionId)).owner, 'anna', 'a reset');
        assert.equal((await open.get(made.sessionId)).owner, 'carl', 'a message that creates');
        assert.equal('owner' in (await open.get(free)), false, 'only the owner of the store');
      }
    },
  },
  {
    name: 'a list of one user has the sessions of that user only',
    promise: 'P9: a user sees their own sessions',
    area: 'owner',
    async run({ store }) {
      const ids: string[] = [];
      for (const i of range(1, 7)) {
        const owner = i % 2 === 0 ? 'ben' : 'anna';
        ids.push((await store.create({ key: `agent:main:session:s${i}`, owner })).id);
      }
      await session(store);
      const anna = ids.filter((_, i) => i % 2 === 0);
      for (const sort of ['time', 'messages', 'tokens'] as const)
        assert.deepEqual((await listed(store, { owner: 'anna', sort })).toSorted(), anna.toSorted());
      assert.deepEqual(await listed(store, { owner: 'Anna' }), []);
      assert.equal((await listed(store, {})).length, 8);
    },
  },
  {
    name: 'an append or another message cannot change the user of a session',
    promise: 'P8: a session stays with its user',
    area: 'owner',
    async run({ store }) {
      const { id } = await store.create({ key: KEY, owner: 'anna' });
      const claim = { type: 'custom', customType: 'reprise.origin', data: { owner: 'ben' } };
      await refused(store.append(id, [claim]), 'INVALID_INPUT');
      await refused(store.append(id, [user('a'), claim]), 'INVALID_INPUT');
      assert.equal((await store.create({ id, key: KEY, owner: 'ben' })).owner, 'anna');
      assert.equal((await store.get(id)).lastSeq, 2, 'nothing was written');
    },
  },
  {
    name: 'an imported session is found by its source, and a second import returns it',
    promise: 'I-53: an import never makes a second copy',
    area: 'sources',
    async run({ store, reopen }) {
      const source = { tool: 'claude-code', id: '0b5e "ü" \u{1F600}' };
      const { id } = await store.create({ key: KEY, source });
      const path = '/home/ü/projects/x.jsonl';
      await store.sources.mark(id, { path, mark: { offset: 12, hash: 'a"b' } });
      await store.sources.mark('nobody', { path: 'x' });
      const again = await store.create({ key: 'agent:main:session:other', source });
      assert.equal(again.id, id);
      const [one, two] = await Promise.all([
        store.create({ key: 'agent:main:session:b', source: { tool: 'codex', id: 'b' } }),
        store.create({ key: 'agent:main:session:b', source: { tool: 'codex', id: 'b' } }),
      ]);
      assert.equal(one.id, two.id, 'two imports at once');
      assert.equal((await store.list({ status: 'any' })).sessions.length, 2);
      const found: SourceRecord = { sessionId: id, ...source, path, mark: { offset: 12, hash: 'a"b' } };
      for await (const open of beforeAndAfter({ store, reopen })) {
        assert.deepEqual(await open.sources.find(source), found);
        assert.deepEqual(await open.sources.of(id), found);
        assert.equal(await open.sources.find({ ...source, tool: 'codex' }), undefined);
        assert.equal(await open.sources.of('nobody'), undefined);
      }
    },
  },
  {
    name: 'the pages of sources contain every imported session of a tool once',
    promise: 'I-53: an import never makes a second copy',
    area: 'sources',
    async run({ store }) {
      const ids: string[] = [];
      for (const i of range(1, 7))
        ids.push(
          (await store.create({ key: `agent:main:session:s${i}`, source: { tool: 'pi', id: `${i}` } })).id,
        );
      await store.create({ key: KEY, source: { tool: 'codex', id: '1' } });
      await session(store);
      for (const limit of [1, 3, 7, 100]) {
        const found: string[] = [];
        for (let after: string | null = ''; after !== null; ) {
          const page = await store.sources.list({ tool: 'pi', limit, ...(after !== '' && { after }) });
          found.push(...page.sources.map(({ sessionId }) => sessionId));
          after = page.next;
          assert.ok(found.length <= ids.length, 'a list has an end');
        }
        assert.deepEqual(found, ids.toSorted());
      }
      assert.equal((await store.sources.list()).sources.length, 8);
    },
  },
  {
    name: 'an imported entry is found by its id in the source, the newest if there are several',
    promise: 'I-53: an import writes only what is missing',
    area: 'sources',
    async run({ store, reopen }) {
      const [one, two] = [await session(store), await session(store)];
      const entry = (sourceId: string): NewEntry => ({ ...user(sourceId), sourceId });
      const { firstSeq } = await store.append(one, [entry('a'), user('b'), entry('c')]);
      const again = await store.append(one, [entry('a'), entry('é "')], { key: 'k' });
      await store.append(one, [entry('a'), entry('é "')], { key: 'k' });
      const ids = ['a', 'b', 'c', 'é "', 'A'];
      for await (const open of beforeAndAfter({ store, reopen })) {
        const found = await open.sources.entries(one, ids);
        const wanted = { a: again.firstSeq, c: firstSeq + 2, 'é "': again.lastSeq };
        assert.deepEqual(Object.fromEntries(found), wanted);
        assert.equal((await open.sources.entries(two, ids)).size, 0);
        assert.equal((await open.sources.entries('nobody', ids)).size, 0);
      }
    },
  },
  {
    name: 'a source is free again when its session is purged, not before',
    promise: 'P3: purged data is gone',
    area: 'sources',
    async run({ store }) {
      const source = { tool: 'pi', id: 'x' };
      const { id } = await store.create({ key: KEY, source });
      await store.append(id, [{ ...user('a'), sourceId: 'a' }]);
      await store.delete(id);
      assert.equal((await store.sources.find(source))?.sessionId, id);
      assert.equal((await store.create({ key: KEY, source })).status, 'deleted');
      await store.purge(id);
      assert.equal(await store.sources.find(source), undefined);
      const { id: next } = await store.create({ key: KEY, source });
      assert.notEqual(next, id);
      assert.equal((await store.sources.entries(next, ['a'])).size, 0);
    },
  },
  {
    name: 'invalid owners, sources and source ids are refused',
    promise: 'P2: data that is not stored is refused',
    area: 'sources',
    async run({ store }) {
      for (const owner of ['', 'x'.repeat(257), 'a\0b', '\ud800', 7 as never])
        await refused(store.create({ key: KEY, owner }), 'INVALID_INPUT');
      for (const source of [{ tool: '', id: 'a' }, { tool: 'a', id: 'x'.repeat(513) }, { tool: 'a' }, null])
        await refused(store.create({ key: KEY, source: source as never }), 'INVALID_INPUT');
      const id = await session(store);
      for (const sourceId of ['', 7, 'x'.repeat(513), 'a\0b'])
        await refused(store.append(id, [{ ...user('a'), sourceId }]), 'INVALID_INPUT');
      assert.equal((await store.get(id)).lastSeq, 1);
    },
  },
];

async function listed(store: Store, query: Parameters<Store['list']>[0]): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.list({ ...query, limit: 3, ...(cursor !== undefined && { cursor }) });
    found.push(...page.sessions.map(({ id }) => id));
    cursor = page.cursor;
    assert.ok(found.length < 100, 'a list has an end');
  }
  return found;
}
