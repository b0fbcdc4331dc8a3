// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import type { Lease, Store } from '../../../../src/store/port/store.ts';
import { createHistory } from '../../../../testing/crash/history.ts';
import { assertClean } from '../../../../testing/crash/judge.ts';
import { createRandom } from '../../../../testing/crash/random.ts';
import { type PostgresServer, startPostgres } from '../../../support/postgres/postgres-server.ts';
import { appendTo, judgeStore, readAll } from '../../../support/store/store-history.ts';

const ROUNDS = Number(process.env['REPRISE_CRASH_ROUNDS'] ?? 2);
const SESSIONS = ['s1', 's2', 's3'] as const;
const WRITERS = 12;
const PATIENCE_MS = 60_000;

let server: PostgresServer;
const strays: unknown[] = [];
const onStray = (reason: unknown): void => void strays.push(reason);
beforeAll(async () => {
  // With fsync, as machines have it that can lose power.
  server = await startPostgres({ durable: true });
  process.on('unhandledRejection', onStray);
});
afterAll(async () => {
  process.off('unhandledRejection', onStray);
  await server.stop();
});

test(
  'a server that is killed or ends itself in the middle of appends loses nothing it acknowledged; stores continue by themselves',
  async () => {
    const random = createRandom(32);
    const history = createHistory();
    await using one = await openStore({ kind: 'postgres', url: server.url });
    await using two = await openStore({ kind: 'postgres', url: server.url });
    for (const id of SESSIONS) await one.create({ id, key: `agent:main:${id}` });
    await one.create({ id: 'held', key: 'agent:main:held' });
    let lease: Lease = await one.lease('held');
    let acknowledged = 0;
    let isOver = false;
    const outcomes = new Map<string, number>();
    const write = async (store: Store): Promise<void> => {
      while (!isOver) {
        const sizes = Array.from({ length: random.integer(1, 3) }, () => random.skewed(50, 20_000));
        const { key } = history.begin({ session: random.pick(SESSIONS), sizes });
        const { ok, code, outcome } = await appendTo(store, history, key);
        if (ok) acknowledged++;
        else outcomes.set(`${code} ${outcome}`, (outcomes.get(`${code} ${outcome}`) ?? 0) + 1);
      }
    };
    const writers = Array.from({ length: WRITERS }, (_, i) => write(i % 2 === 0 ? one : two));
    for (let round = 0; round < ROUNDS; round++) {
      const goal = acknowledged + random.integer(20, 100);
      await expect
        .poll(() => acknowledged, { timeout: PATIENCE_MS, interval: 2 })
        .toBeGreaterThanOrEqual(goal);
      await (round % 2 === 0 ? server.crash() : server.quit());
      await server.start();
      const before = acknowledged;
      await expect.poll(() => acknowledged, { timeout: PATIENCE_MS }).toBeGreaterThan(before + 5);
      // Still ours, or reported as lost: never believed without being held.
      if (lease.signal.aborted) lease = await one.lease('held', { waitMs: 30_000 });
      const held = [{ type: 'message', message: { role: 'user', content: `round ${round}` } }];
      await one.append('held', held, { epoch: lease.epoch, key: `round ${round}` });
    }
    isOver = true;
    await Promise.all(writers);
    const unknown = history.unknown();
    assertClean(await judgeStore(two, history, SESSIONS));
    for (const { key } of unknown) {
      const answer = await appendTo(two, history, key);
      expect(answer, key).toMatchObject({ ok: true });
    }
    const report = await judgeStore(two, history, SESSIONS);
    console.log(
      `${ROUNDS} deaths of the server, ${unknown.length} unknown, ${JSON.stringify(Object.fromEntries(outcomes))}; ${report.line}`,
    );
    assertClean(report);
    expect(report.unknown).toBe(0);
    expect(outcomes.size).toBeGreaterThan(0);
    expect((await readAll(one, 'held')).length).toBe(1 + ROUNDS);
    expect((await one.verify()).status).toBe('clean');
    expect(strays).toEqual([]);
  },
  120_000 + ROUNDS * 60_000,
);
