import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import { RepriseError } from '../../../../src/errors.ts';
import type { AppendReceipt, NewEntry, Store } from '../../../../src/store/port/store.ts';
import { readEntries, until } from '../../../../testing/store-suite/kit.ts';
import { type FreshDatabase, freshDatabase } from '../../../support/postgres/postgres.ts';
import { openPostgresProxy } from '../../../support/postgres/postgres-proxy.ts';
import { query } from '../../../support/postgres/postgres-suite.ts';

let database: FreshDatabase;
const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);

beforeAll(async () => {
  process.on('unhandledRejection', note);
  database = await freshDatabase();
});

afterAll(async () => {
  process.off('unhandledRejection', note);
  await database[Symbol.asyncDispose]();
  // Nothing that goes wrong with a connection may reach the process.
  expect(unhandled).toEqual([]);
});

const user = (content: string): NewEntry => ({ type: 'message', message: { role: 'user', content } });

/** Through a proxy, so that it can be decided what the store gets to know. It indexes nothing: no commit but the test's. */
async function openThrough(url: string, parameters: Readonly<Record<string, string>> = {}): Promise<Store> {
  const through = new URL(url);
  for (const [name, value] of Object.entries(parameters)) through.searchParams.set(name, value);
  return openStore({ kind: 'postgres', url: through.href, search: 'scan' });
}

async function texts(store: Store, id: string): Promise<unknown[]> {
  return (await readEntries(store, id)).map((entry) => (entry['message'] as { content: unknown }).content);
}

test('a commit whose answer was lost is looked up: the append is answered, and written once', async () => {
  await using proxy = await openPostgresProxy(database.url);
  // With one connection: who asks what became of it must not wait for whom it happened to.
  await using store = await openThrough(proxy.url, { pool_max: '1' });
  const { id } = await store.create({ key: 'agent:main:direct:lost-answer' });
  proxy.fate = 'cut-after';
  // Without a key: only the server itself knows the result.
  const receipt = await store.append(id, [user('once')]);
  expect(proxy.cuts).toBe(1);
  expect(receipt).toEqual({ firstSeq: 2, lastSeq: 2 });
  expect(await texts(store, id)).toEqual(['once']);
});

test('a commit that never arrived is done again, and written once', async () => {
  await using proxy = await openPostgresProxy(database.url);
  await using store = await openThrough(proxy.url);
  const { id } = await store.create({ key: 'agent:main:direct:lost-commit' });
  proxy.fate = 'cut-before';
  expect(await store.append(id, [user('once')])).toEqual({ firstSeq: 2, lastSeq: 2 });
  expect(proxy.cuts).toBe(1);
  expect(await texts(store, id)).toEqual(['once']);
});

test('a server that panics at a commit may have done it: it is asked, and the append is answered and written once', async () => {
  await using proxy = await openPostgresProxy(database.url);
  await using store = await openThrough(proxy.url);
  const { id } = await store.create({ key: 'agent:main:direct:panic' });
  proxy.fate = 'panic-after';
  expect(await store.append(id, [user('once')])).toEqual({ firstSeq: 2, lastSeq: 2 });
  expect(proxy.cuts).toBe(1);
  expect(await texts(store, id)).toEqual(['once']);
});

test('if no server knows what became of a commit the outcome is unknown, and the key resolves it', async () => {
  await using proxy = await openPostgresProxy(database.url);
  // How long the lookup tries to find out.
  await using store = await openThrough(proxy.url, { connect_timeout_ms: '2000' });
  const { id } = await store.create({ key: 'agent:main:direct:unknown' });
  proxy.fate = 'close-after';
  const error = await store.append(id, [user('maybe')], { key: 'k' }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(RepriseError);
  expect(error).toMatchObject({ code: 'STORE_FAILED', outcome: 'unknown' });
  proxy.isClosed = false;
  expect(await store.append(id, [user('maybe')], { key: 'k' })).toEqual({ firstSeq: 2, lastSeq: 2 });
  expect(await texts(store, id)).toEqual(['maybe']);
});

test('a server that is away is not a wrong address: nothing was written, and it continues without a restart', async () => {
  await using proxy = await openPostgresProxy(database.url);
  await using store = await openThrough(proxy.url);
  const { id } = await store.create({ key: 'agent:main:direct:away' });
  const stop = new AbortController();
  const watched = store.watch(id, { afterSeq: 1, signal: stop.signal })[Symbol.asyncIterator]();
  const first = watched.next();
  proxy.isClosed = true;
  await expect(store.append(id, [user('lost')])).rejects.toMatchObject({
    code: 'STORE_FAILED',
    outcome: 'none',
  });
  await expect(store.get(id)).rejects.toMatchObject({ code: 'STORE_FAILED' });
  proxy.isClosed = false;
  await store.append(id, [user('back')]);
  // The watch has outlived it.
  expect((await first).value?.seq).toBe(2);
  stop.abort();
  expect(await texts(store, id)).toEqual(['back']);
});

test('connections that are terminated under load lose nothing, double nothing, and are replaced', async () => {
  await using store = await openStore({ kind: 'postgres', url: database.url });
  const name = new URL(database.url).pathname.slice(1);
  const ids = await Promise.all(
    Array.from(
      { length: 4 },
      async (_, i) => (await store.create({ key: `agent:main:direct:kill-${i}` })).id,
    ),
  );
  const lease = await store.lease(ids[0] ?? '');
  let done = 0;
  // None has finished before the last of them is met.
  let allowed = 30;
  const work = ids.map(async (id, i) => {
    const epoch = i === 0 ? { epoch: lease.epoch } : {};
    for (let n = 0; n < 60; n++) {
      await until(() => done < allowed, 'the next of the kills');
      await settled(() => store.append(id, [user(`${n}`)], { key: `k${n}`, ...epoch }));
      done++;
    }
  });
  const nemesis = async (): Promise<number> => {
    let kills = 0;
    for (let at = 10; at < 230; at += 20) {
      await until(() => done >= at, `${at} appends`);
      const { rowCount } = await query(
        database.url,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = '${name}' AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
      );
      kills += rowCount ?? 0;
      allowed = at === 210 ? Number.POSITIVE_INFINITY : at + 40;
    }
    return kills;
  };
  const [kills] = await Promise.all([nemesis(), ...work]);
  expect(kills).toBeGreaterThan(10);
  for (const id of ids) expect(await texts(store, id)).toEqual(Array.from({ length: 60 }, (_, n) => `${n}`));
  // Whose connections died has not lost what it held.
  await lease.renew();
  expect(await lease.release()).toBeNull();
});

/** As every caller does: again with the same key, until it is known. */
async function settled(append: () => Promise<AppendReceipt>): Promise<AppendReceipt> {
  for (;;) {
    try {
      return await append();
    } catch (error) {
      if (!(error instanceof RepriseError) || error.code !== 'STORE_FAILED') throw error;
    }
  }
}
