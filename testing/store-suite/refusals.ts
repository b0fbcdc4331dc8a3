import assert from 'node:assert/strict';
import type { ErrorCode } from '../../src/errors.ts';
import type { NewEntry, Store } from '../../src/store/port/store.ts';
import { DEFAULT_RECORD_LIMITS } from '../../src/transcript/limits.ts';
import { assistant, readAll, refused, session, user } from './kit.ts';
import type { StoreCase } from './store-case.ts';

export const refusalCases: readonly StoreCase[] = [
  {
    name: 'one invalid entry refuses the whole append, and nothing of it is written',
    promise: 'P2: an append is done, or certainly not',
    area: 'append',
    async run({ store, reopen }) {
      const id = await session(store, ['before']);
      await refusesAll(
        store,
        id,
        { type: 'message', message: { role: 'user', content: Number.NaN } },
        'INVALID_INPUT',
      );
      await refusesAll(store, id, { type: 'custom', data: nested(300) }, 'LIMIT_EXCEEDED');
      await refusesAll(store, id, leafless(), 'INVALID_INPUT');
      assert.equal((await readAll(await reopen(), id)).length, 2);
    },
  },
  {
    name: 'an entry over the size limit is refused with the name of the limit',
    promise: 'P2: an append is done, or certainly not',
    area: 'input',
    async run({ store }) {
      const id = await session(store, ['before']);
      const huge = user('x'.repeat(DEFAULT_RECORD_LIMITS.maxRecordBytes));
      const error = await refusesAll(store, id, huge, 'LIMIT_EXCEEDED');
      assert.equal(error.details['limit'], 'record');
    },
  },
  {
    name: 'values that JSON would change silently are refused',
    promise: 'P1: the line contains what the caller passed',
    area: 'input',
    async run({ store }) {
      const id = await session(store, ['before']);
      const cycle: { self?: unknown } = {};
      cycle.self = cycle;
      const cases: readonly (readonly [unknown, ErrorCode])[] = [
        [Number.POSITIVE_INFINITY, 'INVALID_INPUT'],
        [new Date(0), 'INVALID_INPUT'],
        [new Map([['a', 1]]), 'INVALID_INPUT'],
        [[1, undefined], 'INVALID_INPUT'],
        [10n, 'INVALID_INPUT'],
        [() => 'x', 'INVALID_INPUT'],
        [{ toJSON: () => 'something else' }, 'INVALID_INPUT'],
        [cycle, 'LIMIT_EXCEEDED'],
      ];
      for (const [data, code] of cases) await refusesAll(store, id, { type: 'custom', data }, code);
      // The store works as before.
      assert.equal((await store.append(id, [user('after')])).firstSeq, 3);
    },
  },
  {
    name: 'an empty append is refused',
    promise: 'P2: a receipt covers at least one line',
    area: 'input',
    async run({ store }) {
      const id = await session(store, ['before']);
      await refused(store.append(id, []), 'INVALID_INPUT');
      await refused(store.append(id, [], { key: 'k' }), 'INVALID_INPUT');
      assert.deepEqual(await store.append(id, [user('x')], { key: 'k' }), { firstSeq: 3, lastSeq: 3 });
    },
  },
  {
    name: 'an entry with an id or without a type is refused',
    promise: 'I-2: the store assigns ids, so that they are unique and the same on every store',
    area: 'input',
    async run({ store }) {
      const id = await session(store, ['before']);
      const withId = { ...user('x'), id: 'mine' } as unknown as NewEntry;
      await refusesAll(store, id, withId, 'INVALID_INPUT');
      const untyped = { message: { role: 'user', content: 'x' } } as unknown as NewEntry;
      await refusesAll(store, id, untyped, 'INVALID_INPUT');
      for (const value of [null, 'text', 7, []]) {
        await refusesAll(store, id, value as unknown as NewEntry, 'INVALID_INPUT');
      }
    },
  },
  {
    name: 'a key of a refused append can be used again',
    promise: 'P2: a refused append did not happen, so its key is free',
    area: 'keys',
    async run({ store }) {
      const id = await session(store, ['before']);
      const entry = user('now good');
      await refused(store.append(id, [entry], { key: 'k', expectedLeaf: null }), 'LEAF_MOVED');
      await refused(store.append(id, [{ type: 'x', bad: Number.NaN }], { key: 'k' }), 'INVALID_INPUT');
      assert.deepEqual(await store.append(id, [entry], { key: 'k' }), { firstSeq: 3, lastSeq: 3 });
    },
  },
];

async function refusesAll(
  store: Store,
  id: string,
  bad: NewEntry,
  code: ErrorCode,
): ReturnType<typeof refused> {
  const before = await store.get(id);
  const error = await refused(store.append(id, [user('good'), assistant('good'), bad]), code);
  await refused(store.append(id, [bad]), code);
  assert.deepEqual(await store.get(id), before, 'the record is as before');
  assert.equal((await readAll(store, id)).length, before.lastSeq, 'no line of it was written');
  return error;
}

/** A leaf move to a missing entry. */
function leafless(): NewEntry {
  return { type: 'custom', customType: 'reprise.leaf', parentId: 'no-such-entry' };
}

function nested(depth: number): unknown {
  let value: unknown = 'bottom';
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { value };
  return value;
}
