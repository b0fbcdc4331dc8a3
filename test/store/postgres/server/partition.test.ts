// @module-tag long
import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import { RepriseError } from '../../../../src/errors.ts';
import type { AppendOptions, Store } from '../../../../src/store/port/store.ts';
import { type FreshDatabase, freshDatabase } from '../../../support/postgres/postgres.ts';
import { TcpProxy } from '../../../support/server/tcp-proxy.ts';

const KEY = 'agent:main:main';
/** A machine that stands still this long loses a lease by right, so it is long, though the test waits for it. */
const TTL_MS = 6000;
/** Long waits side by side cost nothing. */
const together = { concurrent: true };

interface Scene extends AsyncDisposable {
  readonly database: FreshDatabase;
  readonly proxy: TcpProxy;
  /** Behind the proxy, and beside it. */
  readonly far: Store;
  readonly near: Store;
}

/**
 * Two nodes on one database, one of them behind a network that can fail. That one indexes nothing: what a test does is
 * all that it commits.
 */
async function scene(): Promise<Scene> {
  const database = await freshDatabase();
  const proxy = await TcpProxy.before(database.url);
  const url = new URL(proxy.through(database.url));
  url.searchParams.set('statement_timeout_ms', '3000');
  url.searchParams.set('connect_timeout_ms', '3000');
  const far = await openStore({ kind: 'postgres', url: url.href, search: 'scan' });
  const near = await openStore({ kind: 'postgres', url: database.url });
  await near.create({ id: 's', key: KEY });
  return {
    database,
    proxy,
    far,
    near,
    async [Symbol.asyncDispose]() {
      await proxy.heal();
      await far[Symbol.asyncDispose]();
      await near[Symbol.asyncDispose]();
      await proxy[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

const say = (store: Store, content: string, options: AppendOptions = {}) =>
  store.append('s', [{ type: 'message', message: { role: 'user', content } }], options);

/** What it came to. One that hangs does so until the time of its test is over. */
function outcomeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'ok',
    (error: unknown) => (error instanceof RepriseError ? `${error.code} ${error.outcome}` : String(error)),
  );
}

async function texts(store: Store): Promise<string[]> {
  const { entries } = await store.read('s');
  return entries
    .slice(1)
    .map(({ entry }) => String((entry as { message?: { content?: unknown } }).message?.content));
}

describe('a network that fails between a node and its database', () => {
  test(
    'and holds everything back: an append ends in time as unknown, and its key says what became of it',
    together,
    async () => {
      await using at = await scene();
      await say(at.far, 'before');
      at.proxy.hold('up', 'down');
      const said = await outcomeOf(say(at.far, 'held back', { key: 'k1' }));
      expect(said).toMatch(/^(?:STORE_FAILED|STORE_BUSY|CONNECT_FAILED) (?:unknown|none)$/);
      await at.proxy.heal();
      await say(at.far, 'held back', { key: 'k1' });
      await say(at.far, 'held back', { key: 'k1' });
      await say(at.far, 'after');
      expect(await texts(at.near)).toEqual(['before', 'held back', 'after']);
    },
  );

  test(
    'and swallows the answer of a commit: it is found out, or unknown until its key is asked',
    together,
    async () => {
      await using at = await scene();
      const caught = at.proxy.trap('COMMIT', 'down');
      const appended = outcomeOf(say(at.far, 'once', { key: 'k1' }));
      await caught;
      await expect.poll(() => texts(at.near)).toEqual(['once']);
      at.proxy.reset();
      await at.proxy.heal();
      expect(await appended).toMatch(/^(?:ok|STORE_FAILED unknown)$/);
      await say(at.far, 'once', { key: 'k1' });
      expect(await texts(at.near)).toEqual(['once']);
    },
  );

  test(
    'and takes connections without ever answering: new ones are given up in time, nothing is written',
    together,
    async () => {
      await using at = await scene();
      at.proxy.hold('down');
      at.proxy.reset();
      const all = await Promise.all([1, 2, 3].map((n) => outcomeOf(say(at.far, `n${n}`, { key: `k${n}` }))));
      for (const said of all) expect(said).toMatch(/ (?:none|unknown)$/);
      await at.proxy.heal();
      for (const n of [1, 2, 3]) await say(at.far, `n${n}`, { key: `k${n}` });
      expect((await texts(at.near)).toSorted()).toEqual(['n1', 'n2', 'n3']);
    },
  );

  test(
    'and refuses: an append fails at once with nothing written; when it is back everything continues',
    together,
    async () => {
      await using at = await scene();
      const stop = new AbortController();
      const seen: string[] = [];
      const watching = (async () => {
        for await (const { entry } of at.far.watch('s', { afterSeq: 1, signal: stop.signal }))
          seen.push(String((entry as { message?: { content?: unknown } }).message?.content));
      })();
      await say(at.near, 'one');
      await expect.poll(() => seen).toEqual(['one']);
      at.proxy.refuse();
      at.proxy.reset();
      expect(await outcomeOf(say(at.far, 'lost'))).toMatch(/^(?:CONNECT_FAILED|STORE_FAILED) none$/);
      await say(at.near, 'two');
      await at.proxy.heal();
      await say(at.far, 'three');
      // A watcher has missed nothing.
      await expect.poll(() => seen).toEqual(['one', 'two', 'three']);
      stop.abort();
      await watching;
    },
  );

  test(
    'while it holds a lease: the lease is lost here before another node has it, and the old holder is fenced',
    together,
    async () => {
      await using at = await scene();
      const lease = await at.far.lease('s', { ttlMs: TTL_MS });
      await say(at.far, 'from far', { epoch: lease.epoch });
      // Kept alive beyond its time as long as the network is well.
      await expect(at.near.lease('s', { waitMs: TTL_MS * 1.2 })).rejects.toMatchObject({
        code: 'LEASE_HELD',
      });
      expect(lease.signal.aborted).toBe(false);
      at.proxy.hold('up', 'down');
      const taken = await at.near.lease('s', { ttlMs: 60_000, waitMs: 60_000 });
      expect(lease.signal.aborted).toBe(true);
      await say(at.near, 'from near', { epoch: taken.epoch });
      await at.proxy.heal();
      expect(await outcomeOf(say(at.far, 'too late', { epoch: lease.epoch }))).toBe('FENCED none');
      await say(at.near, 'near again', { epoch: taken.epoch });
      expect(await texts(at.near)).toEqual(['from far', 'from near', 'near again']);
      await taken.release();
    },
  );

  test(
    'while it asks for a lease: one that was granted without an answer is free when its time is over',
    together,
    async () => {
      await using at = await scene();
      await say(at.far, 'before');
      const caught = at.proxy.trap('COMMIT', 'down');
      const asked = outcomeOf(at.far.lease('s', { ttlMs: TTL_MS }));
      await caught;
      expect(await asked).toMatch(/ unknown$/);
      await at.proxy.heal();
      const again = await at.far.lease('s', { ttlMs: TTL_MS, waitMs: 20_000 });
      await say(at.far, 'after', { epoch: again.epoch });
      expect(await again.release()).toBeNull();
    },
  );

  test('for less than the time of a lease: no node loses it', together, async () => {
    await using at = await scene();
    const lease = await at.far.lease('s', { ttlMs: 90_000 });
    at.proxy.reset();
    at.proxy.hold('up', 'down');
    expect(await outcomeOf(say(at.far, 'held back', { epoch: lease.epoch, key: 'k' }))).not.toBe('ok');
    await at.proxy.heal();
    await say(at.far, 'held back', { epoch: lease.epoch, key: 'k' });
    expect(lease.signal.aborted).toBe(false);
    await lease.renew();
    expect(await lease.release()).toBeNull();
    expect(await texts(at.near)).toEqual(['held back']);
  });
});

test('connections that the server ends are replaced, and a lease outlives them', async () => {
  await using at = await scene();
  const lease = await at.far.lease('s', { ttlMs: 60_000 });
  const admin = new pg.Client({ connectionString: at.database.url });
  await admin.connect();
  for (let round = 0; round < 5; round++) {
    await admin.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
    );
    await Promise.all(
      [0, 1, 2].map((n) => say(at.far, `${round}.${n}`, { epoch: lease.epoch, key: `${round}.${n}` })),
    );
    await lease.renew();
  }
  await admin.end();
  expect(lease.signal.aborted).toBe(false);
  expect(await lease.release()).toBeNull();
  expect((await texts(at.near)).toSorted()).toEqual(
    [0, 1, 2, 3, 4].flatMap((round) => [0, 1, 2].map((n) => `${round}.${n}`)),
  );
});
