// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import type { RepriseError } from '../../../../src/errors.ts';
import type { AppendOptions, Store } from '../../../../src/store/port/store.ts';
import { EPOCH_JUMP } from '../../../../src/store/rules/epoch-jump.ts';
import { createHistory } from '../../../../testing/crash/history.ts';
import { assertClean } from '../../../../testing/crash/judge.ts';
import { type PostgresServer, startPostgres } from '../../../support/postgres/postgres-server.ts';
import { query } from '../../../support/postgres/postgres-suite.ts';
import { runBeside } from '../../../support/processes/command-line.ts';
import { startServer } from '../../../support/server/http.ts';
import { TcpProxy } from '../../../support/server/tcp-proxy.ts';
import { appendTo, judgeStore, readAll } from '../../../support/store/store-history.ts';

const WRITERS = 4;
const SESSIONS = ['s1', 's2'];

let primary: PostgresServer;
let standby: PostgresServer;
beforeAll(async () => {
  primary = await startPostgres();
  await (await openStore({ kind: 'postgres', url: primary.url }))[Symbol.asyncDispose]();
  standby = await startPostgres({ standbyOf: primary.url });
  // From now on nothing is acknowledged that the standby does not have.
  await query(primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'");
  await query(primary.url, "ALTER SYSTEM SET synchronous_commit = 'remote_apply'");
  await query(primary.url, 'SELECT pg_reload_conf()');
});
afterAll(async () => {
  await standby?.stop();
  await primary.stop();
});

test('a replica is refused as a store, with what to do', async () => {
  const error = await openStore({ kind: 'postgres', url: standby.url }).catch(
    (caught: RepriseError) => caught,
  );
  expect(error).toMatchObject({ code: 'STORE_READ_ONLY', outcome: 'none' });
  expect((error as RepriseError).details['next']).toContain('primary');
  const env = { REPRISE_HOME: '/nonexistent', REPRISE_STORE: 'postgres', REPRISE_STORE_URL: standby.url };
  const [list, doctor] = await Promise.all([
    runBeside(['ls'], { env }),
    runBeside(['doctor', '--json'], { env }),
  ]);
  expect([list.status, list.stdout]).toEqual([1, '']);
  expect(list.stderr).toMatch(/is a replica.*\(STORE_READ_ONLY\)\n.*primary\.\n$/);
  const { data } = JSON.parse(doctor.stdout) as { readonly data: readonly object[] };
  expect(data).toContainEqual(expect.objectContaining({ name: 'store', ok: false }));
});

test('a node continues by itself when a replica takes the place of its server, with everything it acknowledged', async () => {
  await expect
    .poll(async () => (await query(primary.url, 'SELECT sync_state FROM pg_stat_replication')).rows)
    .toEqual([{ sync_state: 'sync' }]);
  await using address = await TcpProxy.before(primary.url);
  const url = new URL(address.through(primary.url));
  url.searchParams.set('connect_timeout_ms', '4000');
  await using store = await openStore({ kind: 'postgres', url: url.href });
  await using server = await startServer({}, { store });
  const ready = async (): Promise<unknown> => {
    const { status, json } = await server.ask('/readyz');
    return status === 200 ? 200 : `${status} ${json.code}`;
  };
  for (const id of [...SESSIONS, 'held']) await store.create({ id, key: `agent:main:${id}` });
  const lease = await store.lease('held', { ttlMs: 60_000 });
  const history = createHistory();
  let acknowledged = 0;
  const codes = new Set<string>();
  const over = new AbortController();
  const writers = Array.from({ length: WRITERS }, async (_, i) => {
    while (!over.signal.aborted) {
      const { key } = history.begin({ session: SESSIONS[i % 2] ?? '', sizes: [200] });
      const { ok, code, outcome } = await appendTo(store, history, key);
      if (ok) acknowledged++;
      else codes.add(`${code} ${outcome}`);
    }
  });
  const stop = async (): Promise<void> => {
    over.abort();
    await Promise.all(writers);
  };
  // Before the store is closed, however this ends.
  await using _writers = { [Symbol.asyncDispose]: stop };
  await expect.poll(() => acknowledged).toBeGreaterThan(20);
  expect(await ready()).toBe(200);

  await primary.crash();
  address.lead(standby.url);
  address.reset();
  // It can be read, and says that it cannot be written.
  await expect.poll(() => [...codes]).toContain('STORE_READ_ONLY none');
  expect((await readAll(store, 'held')).length).toBe(1);
  await expect.poll(ready).toBe('503 STORE_READ_ONLY');
  await expect(store.lease('s1')).rejects.toMatchObject({ code: 'STORE_READ_ONLY', outcome: 'none' });

  const before = acknowledged;
  await query(standby.url, 'SELECT pg_promote()');
  await expect.poll(() => acknowledged).toBeGreaterThan(before + 20);
  await stop();
  for (const { key } of history.unknown())
    expect(await appendTo(store, history, key)).toMatchObject({ ok: true });
  const report = await judgeStore(store, history, SESSIONS);
  console.log(`${[...codes].join(', ')}; ${report.line}`);
  assertClean(report);
  expect(report.unknown).toBe(0);
  await expect.poll(ready).toBe(200);
  // What was held is still held, and by the same epoch.
  await lease.renew();
  const entry = { type: 'message', message: { role: 'user', content: 'still ours' } };
  await store.append('held', [entry], { epoch: lease.epoch });
  expect(await lease.release()).toBeNull();
  expect((await store.verify()).status).toBe('clean');
  // A copy grants nothing the lost server may have granted, though no session here knows of it.
  const [told] = (await store.transfer.read()).records;
  expect(lease.epoch).toBeLessThan(EPOCH_JUMP);
  expect(told).toEqual({ kind: 'epoch', epoch: EPOCH_JUMP });
});

test('a node believes nothing it has read of a server whose replica had not got it, and holds nothing of it', async () => {
  // The one that was promoted, and one that stops following it.
  const [ahead, behind] = [standby, await startPostgres({ standbyOf: standby.url })];
  await using _behind = { [Symbol.asyncDispose]: () => behind.stop() };
  await using address = await TcpProxy.before(ahead.url);
  await using far = await openStore({ kind: 'postgres', url: address.through(ahead.url) });
  await using quiet = await openStore({
    kind: 'postgres',
    url: address.through(ahead.url),
    readOnly: true,
  });
  const say = (store: Store, content: string, options: AppendOptions = {}, id = 'told'): Promise<unknown> =>
    store.append(id, [{ type: 'message', message: { role: 'user', content } }], options);
  const heard = async (store: Store, id = 'told'): Promise<unknown[]> =>
    (await store.tail(id)).entries.map(
      ({ entry }) => (entry as { message?: { content?: unknown } }).message?.content,
    );
  await far.create({ id: 'told', key: 'agent:main:told' });
  await far.create({ id: 'free', key: 'agent:main:free' });
  await say(far, 'both have it');
  const replicas = async (): Promise<unknown> =>
    (
      await query(
        ahead.url,
        'SELECT bool_and(replay_lsn = pg_current_wal_lsn()) AS same FROM pg_stat_replication',
      )
    ).rows;
  await expect.poll(replicas).toEqual([{ same: true }]);
  await query(behind.url, "ALTER SYSTEM SET primary_conninfo = ''");
  await query(behind.url, 'SELECT pg_reload_conf()');
  await expect.poll(replicas).toEqual([{ same: null }]);
  const lost = await far.lease('told');
  await say(far, 'only one has it', { epoch: lost.epoch });
  expect(await heard(far)).toEqual(['both have it', 'only one has it']);
  await say(far, 'held by nobody', {}, 'free');
  expect(await heard(quiet, 'free')).toEqual(['held by nobody']);

  await ahead.crash();
  address.lead(behind.url);
  address.reset();
  await query(behind.url, 'SELECT pg_promote()');
  // Another node gives the same number, and with it the same id, to something else.
  await using near = await openStore({ kind: 'postgres', url: behind.url });
  const held = await near.lease('told');
  await say(near, 'said anew', { epoch: held.epoch });
  await say(near, 'held by nobody, anew', {}, 'free');
  // A node that only reads learns of it, too, without an epoch that shows it.
  expect(await heard(quiet, 'free')).toEqual(['held by nobody, anew']);
  // Nor does it hold what it was granted.
  await expect(say(far, 'too late', { epoch: lost.epoch })).rejects.toMatchObject({ code: 'FENCED' });
  await held.release();
  const lease = await far.lease('told');
  expect(await heard(far)).toEqual(['both have it', 'said anew']);
  await lease.release();
});
