/**
 * What `npm test` runs in a short form, in its long one: `npm run test:long` for everything, `-- crash sizes` for some
 * parts. Each variable can also be set by hand, for any run of Vitest.
 */
import { reportSteps, runSteps, type Step } from './steps.ts';

interface Part {
  readonly files: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly minutes: number;
}

/** T22, T29, T30, T30c and whatever else is killed, stopped or cut off again and again. */
const OFTEN = { REPRISE_CRASH_ROUNDS: '50', REPRISE_CRASH_SEEDS: '20', REPRISE_PUT_RELEASE_ROUNDS: '10000' };

const PARTS: Readonly<Record<string, Part>> = {
  crash: { files: ['test/crash'], env: OFTEN, minutes: 90 },
  postgres: { files: ['test/store/postgres'], env: { ...OFTEN, REPRISE_POOLER_CASES: 'all' }, minutes: 60 },
  simulation: { files: ['test/simulation'], env: { REPRISE_SIM_SEEDS: '10000' }, minutes: 30 },
  properties: {
    files: ['keys', 'transcript', 'context', 'compaction', 'config'].map((room) => `test/${room}`),
    env: { REPRISE_PROPERTY_RUNS: '20000' },
    minutes: 20,
  },
  turns: { files: ['test/engine/window/guard.test.ts'], env: { REPRISE_LONG_TURNS: '2000' }, minutes: 5 },
  load: { files: ['test/server/load.test.ts'], env: { REPRISE_SOAK_SECONDS: '60' }, minutes: 5 },
  sizes: {
    files: [
      'test/store/full-size.test.ts',
      'test/interop/transfer/full-size.test.ts',
      'test/browser/steps.test.ts',
    ],
    env: { REPRISE_FULL_SIZE: '1' },
    minutes: 10,
  },
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(name in PARTS));
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}. There are: ${Object.keys(PARTS).join(', ')}.`);
  process.exit(2);
}
reportSteps(
  runSteps(
    Object.entries(PARTS)
      .filter(([name]) => wanted.length === 0 || wanted.includes(name))
      .map(
        ([name, { files, env, minutes }]): Step => ({
          name,
          command: ['vitest', 'run', ...files],
          budgetSeconds: minutes * 60,
          env,
        }),
      ),
  ),
);
