import assert from 'node:assert/strict';
import type { SessionRecord } from '../../src/store/port/store.ts';
import { isObject, type JsonObject } from '../../src/transcript/json.ts';
import { beforeAndAfter, entryAt, readAll, refused, session } from './kit.ts';
import type { StoreCase } from './store-case.ts';

export const settingsCases: readonly StoreCase[] = [
  {
    name: 'settings are merged, and null removes one',
    promise: 'P9: choices are visible and can be undone',
    area: 'lifecycle',
    async run({ store, reopen }) {
      const id = await session(store, ['a']);
      assert.deepEqual((await store.get(id)).settings, {});
      await store.patch(id, { model: 'm', thinking: 'low' });
      const record = await store.patch(id, { thinking: 'high', nested: { list: [1, null] } });
      const expected = { model: 'm', thinking: 'high', nested: { list: [1, null] } };
      assert.deepEqual(record.settings, expected);
      assert.deepEqual((await store.get(id)).settings, expected);
      assert.deepEqual((await store.patch(id, { model: null, never: null })).settings, {
        thinking: 'high',
        nested: { list: [1, null] },
      });
      // Settings are merged one level deep: a nested value is replaced, not merged.
      const settings = { thinking: 'high', nested: { other: true } };
      assert.deepEqual((await store.patch(id, { nested: { other: true } })).settings, settings);
      assert.deepEqual((await (await reopen()).get(id)).settings, settings);
    },
  },
  {
    name: 'a patch is a line in the history and does not move the leaf',
    promise: 'P3: the transcript alone can rebuild the record',
    area: 'lifecycle',
    async run({ store }) {
      const id = await session(store, ['a']);
      const before = await store.get(id);
      const after = await store.patch(id, { model: 'm', gone: null });
      assert.equal(after.lastSeq, before.lastSeq + 1);
      assert.equal(after.leaf, before.leaf);
      const entry = await entryAt(store, id, after.lastSeq);
      assert.equal(entry.type, 'custom');
      assert.equal(entry['customType'], 'reprise.settings');
      assert.deepEqual(entry['data'], { model: 'm', gone: null });
      assert.equal(entry.parentId, before.leaf);
      assert.equal(after.messageCount, before.messageCount);
    },
  },
  {
    name: 'a settings entry appended by hand counts like a patch',
    promise: 'P3: the record is a projection of the transcript',
    area: 'lifecycle',
    async run({ store, reopen }) {
      const id = await session(store, ['a']);
      await store.patch(id, { a: 1, b: 2 });
      await store.append(id, [{ type: 'custom', customType: 'reprise.settings', data: { a: null, c: 3 } }]);
      assert.deepEqual((await store.get(id)).settings, { b: 2, c: 3 });
      assert.deepEqual((await (await reopen()).get(id)).settings, { b: 2, c: 3 });
    },
  },
  {
    name: 'settings named like object properties are data',
    promise: 'P8: no input changes a prototype',
    area: 'lifecycle',
    async run({ store, reopen }) {
      const id = await session(store);
      const text = '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}},"toString":1}';
      const hostile = JSON.parse(text) as JsonObject;
      await store.patch(id, hostile);
      for await (const open of beforeAndAfter({ store, reopen })) {
        const { settings } = await open.get(id);
        assert.deepEqual(Object.keys(settings).sort(), ['__proto__', 'constructor', 'toString']);
        const own = Object.getOwnPropertyDescriptor(settings, '__proto__')?.value as unknown;
        assert.ok(isObject(own) && own['isAdmin'] === true);
        assert.equal(({} as JsonObject)['isAdmin'], undefined);
        assert.equal(Object.hasOwn(Object.prototype, 'isAdmin'), false);
      }
    },
  },
  {
    name: 'settings cannot change fields of the store',
    promise: 'P8: callers cannot set owner, seq or epoch',
    area: 'lifecycle',
    async run({ store }) {
      const id = await session(store, ['the title']);
      const before = await store.get(id);
      const forged = {
        id: 'x',
        agentId: 'x',
        status: 'deleted',
        lastSeq: 0,
        leaf: 'x',
        epoch: 99,
        title: 'x',
      };
      // The store may store them as data or refuse them; the record does not change.
      const [result] = await Promise.allSettled([
        store.patch(id, { ...forged, createdAt: 'x', active: true }),
      ]);
      if (result.status === 'rejected') await refused(Promise.reject(result.reason), 'INVALID_INPUT');
      assert.deepEqual(own(await store.get(id)), own(before));
      const { sessions } = await store.list();
      assert.deepEqual(sessions.map(own), [own(before)]);
    },
  },
  {
    name: 'settings that cannot be stored are refused',
    promise: 'P2: a patch is done, or certainly not',
    area: 'input',
    async run({ store }) {
      const id = await session(store, ['a']);
      const before = await store.patch(id, { kept: true });
      const bad: readonly unknown[] = [{ n: Number.NaN }, { when: new Date(0) }, ['a'], null, 'text'];
      for (const settings of bad) await refused(store.patch(id, settings as JsonObject), 'INVALID_INPUT');
      assert.deepEqual(await store.get(id), before);
      assert.equal((await readAll(store, id)).length, before.lastSeq);
    },
  },
];

function own({ id, agentId, status, leaf, epoch, title, createdAt, active }: SessionRecord): JsonObject {
  return { id, agentId, status, leaf, epoch, title, createdAt, active };
}
