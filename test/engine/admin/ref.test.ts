import { beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { resolveRef } from '../../../src/engine/admin/ref.ts';
import type { Store } from '../../../src/store/port/store.ts';

/** More than a store gives in one page. */
const MANY = 1050;

let store: Store;
beforeAll(async () => {
  store = await openStore({ kind: 'memory' });
  const make = (id: string, label: string): Promise<unknown> =>
    store.create({ id, key: `agent:main:session:${id}`, settings: { label } });
  await make('oldest-1', 'Garden');
  await make('oldest-2', 'garden shed');
  await Promise.all(Array.from({ length: MANY }, (_, i) => make(`filler-${i}`, `filler ${i}`)));
  await make('newest-1', 'Trip');
  await make('newest-2', 'Trip');
  await make('archived', 'Old things');
  await store.patch('archived', { archived: true });
  await make('gone', 'Thrown away');
  await store.delete('gone');
  await make('kept', 'The plan');
  await make('copy', 'The plan');
  await store.delete('copy');
});

describe('a ref', () => {
  test('finds a session however many came after it, by the start of its id or name', async () => {
    expect(await resolveRef(store, 'oldest-1')).toMatchObject({ id: 'oldest-1' });
    expect(await resolveRef(store, 'garden s')).toMatchObject({ id: 'oldest-2' });
  });

  test('of a whole name means that one, though longer ones begin with it', async () => {
    expect(await resolveRef(store, 'garden')).toMatchObject({ id: 'oldest-1' });
  });

  test('that fits several names them, also those far down the list', async () => {
    await expect(resolveRef(store, 'oldest')).rejects.toMatchObject({
      code: 'AMBIGUOUS_REF',
      details: { candidates: ['oldest-2', 'oldest-1'] },
    });
    await expect(resolveRef(store, 'filler')).rejects.toMatchObject({
      message: `"filler" matches ${MANY} sessions`,
      details: { next: expect.stringContaining('… 1,042 more') },
    });
    await expect(resolveRef(store, 'trip')).rejects.toMatchObject({ code: 'AMBIGUOUS_REF' });
  });

  test('@last passes over sessions that lists leave out', async () => {
    expect(await resolveRef(store, '@last')).toMatchObject({ id: 'kept' });
    expect(await resolveRef(store, '@-2')).toMatchObject({ id: 'newest-2' });
    expect(await resolveRef(store, 'old things')).toMatchObject({ id: 'archived' });
  });

  test('is never a list number, though a name or an id starts with it; a name that is a number is found', async () => {
    await store.create({ id: '2nd', key: 'agent:main:session:2nd', settings: { label: '2 plans' } });
    for (const number of ['2', '1', String(MANY)])
      await expect(resolveRef(store, number)).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: `"${number}" is not a session: list numbers work only in a chat`,
        details: { next: expect.stringContaining('reprise ls') },
      });
    await store.patch('2nd', { label: '2' });
    expect(await resolveRef(store, '2')).toMatchObject({ id: '2nd' });
    await store.delete('2nd');
  });

  test('finds the live session, though a copy in the trash has the same name', async () => {
    expect(await resolveRef(store, 'the plan')).toMatchObject({ id: 'kept' });
    expect(await resolveRef(store, 'the pl')).toMatchObject({ id: 'kept' });
    expect(await resolveRef(store, 'the plan', { status: 'deleted' })).toMatchObject({ id: 'copy' });
    expect(await resolveRef(store, 'thrown')).toMatchObject({ id: 'gone' });
  });

  test('to the trash finds only sessions in it', async () => {
    await expect(resolveRef(store, 'oldest-1', { status: 'deleted' })).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
      details: { next: expect.stringContaining('--deleted') },
    });
    await expect(resolveRef(store, 'gone', { status: 'open' })).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
    });
  });
});
