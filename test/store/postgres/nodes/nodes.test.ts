// @module-tag long
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import {
  type AppendReceipt,
  LIVE_EVENT_BYTES,
  type LiveEvent,
  type NewEntry,
  type Store,
} from '../../../../src/store/port/store.ts';
import { readEntries, within } from '../../../../testing/store-suite/kit.ts';
import { freshDatabase } from '../../../support/postgres/postgres.ts';
import { query } from '../../../support/postgres/postgres-suite.ts';

const user = (content: string): NewEntry => ({ type: 'message', message: { role: 'user', content } });

interface TwoNodes extends AsyncDisposable {
  readonly one: Store;
  readonly two: Store;
  readonly url: string;
}

async function openTwo(parameters = ''): Promise<TwoNodes> {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await freshDatabase());
  const url = database.url + parameters;
  // Both at once: the tables are made once.
  const [one, two] = await Promise.all([0, 1].map(() => openStore({ kind: 'postgres', url })));
  if (one === undefined || two === undefined) return expect.unreachable();
  stack.use(one);
  stack.use(two);
  const own = stack.move();
  return { one, two, url: database.url, [Symbol.asyncDispose]: () => own.disposeAsync() };
}

describe.each([
  ['by notification', ''],
  ['by the clock, through a transaction pooler', '?pooler=true'],
])('two nodes hear of each other %s', (_, parameters) => {
  test('what one appends the other sees, in order, each once', async () => {
    await using nodes = await openTwo(parameters);
    const { one, two } = nodes;
    const { id } = await one.create({ key: 'agent:main:main' });
    const stop = new AbortController();
    const seen: number[] = [];
    const watching = (async () => {
      for await (const { seq } of two.watch(id, { afterSeq: 0, signal: stop.signal })) {
        seen.push(seq);
        if (seq === 31) return;
      }
    })();
    for (let i = 0; i < 30; i++) await one.append(id, [user(`${i}`)]);
    await within(watching, 'the last line on the other node');
    stop.abort();
    expect(seen).toEqual(Array.from({ length: 31 }, (_unused, i) => i + 1));
  });

  test('what one publishes the other hears, also what no notification could hold', async () => {
    await using nodes = await openTwo(parameters);
    const { one, two } = nodes;
    const { id } = await one.create({ key: 'agent:main:main' });
    const stop = new AbortController();
    const events = two.live(id, { signal: stop.signal })[Symbol.asyncIterator]();
    const text = 'x'.repeat(LIVE_EVENT_BYTES - 30);
    const sent = [1, 2, 3].map((n) => ({ n, text: `\ud800\u0000${n === 2 ? text.slice(20) : ''}` }));
    for (const event of sent) await one.publish(id, event);
    const heard: LiveEvent[] = [];
    for (const { n } of sent) heard.push((await within(events.next(), `event ${n}`)).value as LiveEvent);
    for (const [i, { event, missed }] of heard.entries()) {
      expect([event['n'], missed]).toEqual([sent[i]?.n, 0]);
      expect(event['text'] === sent[i]?.text).toBe(true);
    }
    stop.abort();
  });
});

test('many appends of two nodes to one session: no gap, none twice, each whole', async () => {
  await using nodes = await openTwo();
  const { one, two } = nodes;
  const { id } = await one.create({ key: 'agent:main:main' });
  const receipts = await Promise.all(
    [one, two].flatMap((store, node) =>
      Array.from({ length: 40 }, (_, i) =>
        store.append(id, [user(`${node}-${i}-a`), user(`${node}-${i}-b`)]),
      ),
    ),
  );
  const firsts = receipts.map(({ firstSeq }) => firstSeq).sort((a, b) => a - b);
  expect(firsts).toEqual(Array.from({ length: 80 }, (_, i) => 2 + 2 * i));
  const texts = (await readEntries(two, id)).map(
    (entry) => (entry['message'] as { content: string }).content,
  );
  for (let i = 0; i < texts.length; i += 2) expect(texts[i + 1]).toBe(texts[i]?.replace(/a$/, 'b'));
  // Those of one node in the order they were asked for.
  for (const node of [0, 1]) {
    const own = texts.filter((text) => text.startsWith(`${node}-`) && text.endsWith('a'));
    expect(own).toEqual(Array.from({ length: 40 }, (_, i) => `${node}-${i}-a`));
  }
  expect((await one.verify()).status).toBe('clean');
});

test('appends that are not awaited stay in the order of the calls', async () => {
  await using nodes = await openTwo();
  const { one } = nodes;
  const { id } = await one.create({ key: 'agent:main:main' });
  const receipts: Promise<AppendReceipt>[] = [];
  for (let i = 0; i < 60; i++) {
    receipts.push(one.append(id, [user(`${i}`)]));
    // Not in one breath, so that they are not simply one batch.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const seqs = (await Promise.all(receipts)).map(({ firstSeq }) => firstSeq);
  expect(seqs).toEqual(Array.from({ length: 60 }, (_, i) => i + 2));
});

test('nodes that ask at once for the session of a key get the same one', async () => {
  await using nodes = await openTwo();
  const { one, two } = nodes;
  const records = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      (i % 2 === 0 ? one : two).create({ key: 'agent:main:direct:ada', activate: true }),
    ),
  );
  expect(new Set(records.map(({ id }) => id)).size).toBe(1);
  expect((await one.list()).sessions).toHaveLength(1);
});

test('a lease ends by the clock of the server, and the holder that lost it is fenced and informed', async () => {
  await using nodes = await openTwo();
  const { one, two, url } = nodes;
  const { id } = await one.create({ key: 'agent:main:main' });
  const append = (epoch: number): Promise<unknown> => one.append(id, [user('x')], { epoch });
  const kept = await one.lease(id, { ttlMs: 60_000 });
  await expect(two.lease(id, { waitMs: 0 })).rejects.toMatchObject({ code: 'LEASE_HELD' });
  expect((await two.leases())[0]).toMatchObject({ sessionId: id, alive: true, holder: { pid: process.pid } });
  await kept.release();
  // So short that it soon asks whether it still holds it.
  const lost = await one.lease(id, { ttlMs: 600 });
  await append(lost.epoch);
  await query(
    url,
    "UPDATE reprise.leases SET expires_at = clock_timestamp() - interval '1 second', ttl_ms = -1000",
  );
  const taken = await two.lease(id);
  expect(taken.epoch).toBeGreaterThan(lost.epoch);
  await expect(append(lost.epoch)).rejects.toMatchObject({ code: 'FENCED', outcome: 'none' });
  if (!lost.signal.aborted)
    await within(new Promise((resolve) => lost.signal.addEventListener('abort', resolve)), 'the loss');
  await taken.release();
});

test('a lease that is not renewed any more is free when its time is over', async () => {
  await using nodes = await openTwo();
  const { one, two, url } = nodes;
  const { id } = await one.create({ key: 'agent:main:main' });
  const lease = await one.lease(id, { ttlMs: 60_000 });
  await query(
    url,
    'UPDATE reprise.leases SET holder = \'{"engineId":"gone"}\', expires_at = clock_timestamp() + interval \'300 ms\'',
  );
  const next = await two.lease(id, { waitMs: 10_000 });
  expect(next.epoch).toBe(lease.epoch + 1);
});

test('without advisory locks many nodes that start together make the tables once', async () => {
  await using database = await freshDatabase();
  const url = `${database.url}?advisory_locks=false&pool_max=2`;
  const stores = await Promise.all(Array.from({ length: 6 }, () => openStore({ kind: 'postgres', url })));
  const { rows } = await query(database.url, 'SELECT count(*)::int AS n FROM reprise.schema_version');
  expect(rows).toEqual([{ n: 1 }]);
  await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
});

test('a small pool serves many callers, and a store that closes leaves no connection', async () => {
  await using database = await freshDatabase();
  const url = `${database.url}?pool_max=2&application_name=small`;
  {
    await using store = await openStore({ kind: 'postgres', url });
    const ids = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => (await store.create({ key: `agent:main:direct:p${i}` })).id),
    );
    await Promise.all(ids.flatMap((id) => [store.append(id, [user('a')]), store.append(id, [user('b')])]));
    for (const id of ids) expect((await store.get(id)).lastSeq).toBe(3);
  }
  const count = "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'small'";
  const { rows } = await query(database.url, count);
  // The server takes a moment to see that a client has disconnected.
  for (let n = rows[0].n as number; n > 0; n = (await query(database.url, count)).rows[0].n as number)
    await delay(10);
});

test('of two nodes that have seen the same session one changes it, however often they try at once (I-59)', async () => {
  await using nodes = await openTwo();
  const { one, two } = nodes;
  const { id } = await one.create({ key: 'agent:main:main' });
  for (let round = 0; round < 20; round++) {
    const seen = await (round % 2 === 0 ? one : two).get(id);
    const tries = await Promise.allSettled(
      [one, two, one, two].map((store, i) => store.patch(id, { by: `${round}-${i}` }, { ifSeen: seen })),
    );
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const tried of tries)
      if (tried.status === 'rejected') expect(tried.reason).toMatchObject({ code: 'PRECONDITION_FAILED' });
    expect((await one.get(id)).lastSeq).toBe(seen.lastSeq + 1);
  }
});
