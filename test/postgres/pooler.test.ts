import { describe } from 'vitest';
import { storeCases } from '../../src/testing/store-suite/index.ts';
import { testPostgresStore } from '../support/postgres-suite.ts';

/** Where state of a connection could be relied on, or statements could get out of order. */
const TELLING = new Set(['append', 'keys', 'lease', 'inbox', 'watch', 'live', 'lifecycle']);

describe('the postgres store through a transaction pooler', () => {
  testPostgresStore(
    storeCases.filter(({ area }) => TELLING.has(area)),
    { pooler: 'true' },
  );
});
