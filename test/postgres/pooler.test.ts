import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { storeCases } from '../../src/testing/store-suite/index.ts';
import { cannotPool, PgBouncer } from '../support/pgbouncer.ts';
import { freshDatabase, postgresUrl } from '../support/postgres.ts';
import { testPostgresStore } from '../support/postgres-suite.ts';

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
