// @module-tag scaled
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { test } from 'vitest';
import type { SeedsReport } from './run-seeds.ts';

const SEEDS = Number(process.env['REPRISE_SIM_SEEDS'] ?? 24);
/** Only this one, to see it again. */
const SEED = process.env['REPRISE_SIM_SEED'];
const PROMISE =
  'whatever befalls the runners, every message ends once, in its own session, in order, answered at most once (S9)';
/** As many programs side by side. Programs, because what a test imports runs slower by a third. */
const PARTS = SEED === undefined ? [1, 2] : [Number(SEED)];
const run = promisify(execFile);

test.concurrent.for(PARTS)(
  `${PROMISE}, from seed %i`,
  { timeout: 60_000 + SEEDS * 30_000 },
  async (first, { expect }) => {
    const last = SEED === undefined ? SEEDS : first;
    const inThread = ['--import', './test/simulation/storage-in-thread.ts'];
    const args = [first, last, PARTS.length].map(String);
    const { stdout } = await run(process.execPath, [...inThread, 'test/simulation/run-seeds.ts', ...args]);
    const { seeds, totals, states, failed } = JSON.parse(stdout) as SeedsReport;
    console.log(`${seeds} seeds: ${JSON.stringify({ ...totals, ...states })}`);
    expect(failed, 'REPRISE_SIM_SEED=<seed> shows one of them again').toEqual([]);
    expect(seeds).toBeGreaterThan(0);
    // Accidents that do not happen show nothing.
    if (seeds >= 20) expect(Math.min(...Object.values(totals))).toBeGreaterThan(0);
  },
);
