import { describe } from 'vitest';
import { storeCases } from '../../src/testing/store-suite/index.ts';
import { testPostgresStore } from '../support/postgres-suite.ts';

/** Where state of a connection could be relied on. Everything: REPRISE_POOLER_CASES=all. */
const TELLING = new Set(['keys', 'lease', 'watch', 'live', 'lifecycle']);
const isAll = process.env['REPRISE_POOLER_CASES'] === 'all';

describe('the postgres store through a transaction pooler', () => {
  testPostgresStore(
    storeCases.filter(({ area }) => isAll || TELLING.has(area)),
    { pooler: 'true' },
  );
});
