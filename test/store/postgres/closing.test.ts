import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';

/** Much less than the time that a request waits for a connection. */
const SOON_MS = 20_000;

test('a request or watch in the moment a store closes is answered or refused, and waits for nothing', async () => {
  await using database = await freshDatabase();
  const url = new URL(database.url);
  url.searchParams.set('connect_timeout_ms', '120000');
  const store = await openStore({ kind: 'postgres', url: url.href });
  const { id } = await store.create({ key: 'agent:main:session:s' });
  const { lastSeq } = await store.get(id);
  const watch = (): Promise<unknown> =>
    store
      .watch(id, { afterSeq: lastSeq, signal: new AbortController().signal })
      [Symbol.asyncIterator]()
      .next();
  const before = [watch(), watch()];
  await delay(50);
  const closing = store[Symbol.asyncDispose]();
  const asked = [...before, watch(), ...Array.from({ length: 30 }, () => store.get(id))];
  const all = Promise.allSettled([...asked, closing]);
  const ends = await Promise.race([all, delay(SOON_MS, 'too late' as const)]);
  expect(ends).not.toBe('too late');
  for (const end of ends as PromiseSettledResult<unknown>[])
    if (end.status === 'rejected')
      expect(end.reason).toMatchObject({ code: 'STORE_FAILED', message: 'the store is closed' });
});
