// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { DriverOptions } from '../../../testing/crash/driver-process.ts';
import { type FreshDatabase, freshDatabase } from '../../support/postgres/postgres.ts';
import { HOLDER_ENDS, testContention, testHolderEnds } from '../../support/processes/contention-suite.ts';
import { testKills } from '../../support/processes/kill-suite.ts';

const ROUNDS = Number(process.env['REPRISE_CRASH_ROUNDS'] ?? 3);

/** What one process has compiled the next ones need not: half of what it costs to start them. */
const compiled = mkdtempSync(join(tmpdir(), 'reprise-compiled-'));
afterAll(() => rmSync(compiled, { recursive: true, force: true }));

let database: FreshDatabase;
beforeEach(async () => {
  database = await freshDatabase();
  // Made before several processes start at once and wait for each other.
  await (await openStore({ kind: 'postgres', url: database.url }))[Symbol.asyncDispose]();
});
afterEach(() => database[Symbol.asyncDispose]());

const options = (): DriverOptions => ({
  store: 'postgres',
  home: '',
  url: database.url,
  env: { NODE_COMPILE_CACHE: compiled },
});

describe('processes on one database', () => {
  testKills({ options, rounds: ROUNDS, records: 4 });
  testContention(options, { short: 100 });
});

describe('T41 a holder that ends in the middle', () => {
  testHolderEnds(options, { ends: HOLDER_ENDS.slice(1, 2), signals: ['SIGKILL'] });
});
