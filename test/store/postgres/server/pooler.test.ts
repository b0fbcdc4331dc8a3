// @module-tag long
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import { createHistory } from '../../../../testing/crash/history.ts';
import { assertClean } from '../../../../testing/crash/judge.ts';
import { storeCases } from '../../../../testing/store-suite/index.ts';
import { cannotPool, PgBouncer } from '../../../support/postgres/pgbouncer.ts';
import { freshDatabase, postgresUrl } from '../../../support/postgres/postgres.ts';
import { testPostgresStore } from '../../../support/postgres/postgres-suite.ts';
import { appendTo, judgeStore } from '../../../support/store/store-history.ts';

/** Where state of a connection could be relied on. Everything: REPRISE_POOLER_CASES=all. */
const TELLING = new Set(['keys', 'lease', 'watch', 'live', 'lifecycle']);
const isAll = process.env['REPRISE_POOLER_CASES'] === 'all';
const cases = storeCases.filter(({ area }) => isAll || TELLING.has(area));

const why = cannotPool();
let pooler: PgBouncer | undefined;
beforeAll(async () => {
  if (why === undefined) pooler = await PgBouncer.before(await postgresUrl());
});
afterAll(() => pooler?.[Symbol.asyncDispose]());

/** Without one the store still does nothing that a pooler would not bear; only that it bears it is not seen. */
describe(`the postgres store through a transaction pooler${why === undefined ? ', a real PgBouncer' : ` (without one: ${why})`}`, () => {
  testPostgresStore(cases, { pooler: 'true' }, (url) => pooler?.through(url) ?? url);
});

test.skipIf(why !== undefined)(
  `a pooler that the URL does not tell of is noticed, with what to do${why === undefined ? '' : ` (skipped: ${why})`}`,
  async () => {
    await using database = await freshDatabase();
    const url = pooler?.through(database.url) ?? '';
    await expect(openStore({ kind: 'postgres', url })).rejects.toMatchObject({
      code: 'CONNECT_FAILED',
      outcome: 'none',
      details: { next: expect.stringContaining('pooler=true') },
    });
  },
);

test.skipIf(why !== undefined)(
  `a pooler that is killed in the middle of appends loses nothing, and nodes go on when it is back${why === undefined ? '' : ` (skipped: ${why})`}`,
  async () => {
    await using database = await freshDatabase();
    await using own = await PgBouncer.before(database.url);
    await using store = await openStore({
      kind: 'postgres',
      url: `${own.through(database.url)}?pooler=true`,
    });
    const history = createHistory();
    const ids = ['s1', 's2', 's3', 's4'];
    for (const id of ids) await store.create({ id, key: `agent:main:${id}` });
    let acknowledged = 0;
    const over = new AbortController();
    const writers = ids.map(async (session) => {
      while (!over.signal.aborted) {
        const { key } = history.begin({ session, sizes: [500] });
        if ((await appendTo(store, history, key)).ok) acknowledged++;
      }
    });
    const stop = async (): Promise<void> => {
      over.abort();
      await Promise.all(writers);
    };
    // Before the store is closed, however this ends.
    await using _writers = { [Symbol.asyncDispose]: stop };
    for (let round = 0; round < 3; round++) {
      const goal = acknowledged + 20;
      await expect.poll(() => acknowledged, { interval: 2 }).toBeGreaterThan(goal);
      await own.kill();
      await own.start();
    }
    const goal = acknowledged + 20;
    await expect.poll(() => acknowledged).toBeGreaterThan(goal);
    await stop();
    const unknown = history.unknown();
    for (const { key } of unknown) expect(await appendTo(store, history, key)).toMatchObject({ ok: true });
    const report = await judgeStore(store, history, ids);
    console.log(`3 deaths of the pooler, ${unknown.length} unknown; ${report.line}`);
    assertClean(report);
    expect(report.unknown).toBe(0);
  },
);
