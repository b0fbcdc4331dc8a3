/**
 * `npm test`: lint, types, dead code and every test that is not tagged `long`.
 * `npm run test:rest`: the tests tagged `long`, and the ones tagged `scaled` in their full size.
 */
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium } from '../test/browser/support/chromium.ts';
import { reportSteps, runSteps, type Step } from './steps.ts';
import { suite } from './suite.ts';
import type { Outcome } from './suite-reporter.ts';

const folder = mkdtempSync(join(tmpdir(), 'reprise-check-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const isRest = process.argv.includes('--rest');
const noBrowser = findChromium() === undefined && process.env['CI'] === undefined;

/** The counts of tests tagged `scaled`; their defaults are for `npm test`. */
const FULL_COUNTS = {
  REPRISE_HISTORY_RUNS: '200',
  REPRISE_SIM_SEEDS: '500',
};

// Loading a file only to skip all of its tests takes longer than reading it here.
const sources = globSync('test/**/*.test.ts').map((file) => ({ file, text: readFileSync(file, 'utf8') }));
const filesWith = (pattern: RegExp): string[] =>
  sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file);

const tests = isRest
  ? suite(
      'long tests',
      600,
      [
        ...filesWith(/@module-tag (?:long|scaled)\b|\btags: '(?:long|scaled)'/),
        '--tags-filter=long || scaled',
      ],
      folder,
      FULL_COUNTS,
    )
  : suite(
      'tests',
      280,
      [
        ...filesWith(/@module-tag long\b/).map((file) => `--exclude=${file}`),
        ...(noBrowser ? ['--exclude=test/browser/**'] : []),
        '--tags-filter=!long',
        // A worker loads the sources once for all of its files, which saves a fifth of the run. A test that changes
        // something of the process (environment, timers, listeners) restores it.
        '--no-isolate',
      ],
      folder,
    );
const checks: readonly Step[] = [
  { name: 'lint and format', command: ['biome', 'ci', '.'], budgetSeconds: 10 },
  { name: 'types', command: ['tsc', '--noEmit'], budgetSeconds: 15 },
  { name: 'types of the page', command: ['tsc', '-p', 'web', '--noEmit'], budgetSeconds: 10 },
  { name: 'dead code', command: ['knip'], budgetSeconds: 10 },
];

const results = runSteps(isRest ? [tests] : [...checks, tests]);
const outcome = tests.outcome();
if (outcome !== undefined) reportTests(outcome, results.at(-1)?.ok === true);
reportSteps(results);
if (noBrowser)
  console.log(
    'Not run: the browser tests. They need Chromium (apt-get install chromium-headless-shell), or REPRISE_CHROMIUM.',
  );

function reportTests({ passed, failed, skipped, otherFailures, folders }: Outcome, ok: boolean): void {
  console.log('\nTests by folder (seconds of files that ran side by side are added up):');
  for (const [name, row] of Object.entries(folders).sort(([a], [b]) => a.localeCompare(b)))
    console.log(`  ${name}: ${row.passed} passed, ${row.failed} failed, ${row.seconds.toFixed(0)} s`);
  for (const { file, test } of skipped) console.log(`skipped: ${file}: ${test}`);
  // A failure that passed in the second run.
  const unsteady = ok ? failed : [];
  for (const { file, test } of ok ? unsteady : failed)
    console.log(`${ok ? 'unsteady (failed once, then passed alone)' : 'failed'}: ${file}: ${test}`);
  if (!ok && otherFailures > 0) console.log(`failed outside of tests: ${otherFailures}`);
  const failures = ok ? 0 : failed.length + otherFailures;
  console.log(`\n${passed + unsteady.length} passed, ${failures} failed, ${skipped.length} skipped`);
}
