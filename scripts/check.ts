/** `npm run check`, which is what `npm test` runs: everything that must hold before anything lands. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium } from '../test/browser/support/browser.ts';
import { runSteps } from './steps.ts';
import { suite } from './suite.ts';

const folder = mkdtempSync(join(tmpdir(), 'reprise-check-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** The conformance suite on each of our stores. */
const STORE_SUITE = 'test/store/*-store.test.ts';
const SURFACES = ['cli', 'server', 'client', 'config', 'interop-formats'].map((name) => `test/${name}`);
const apart = [
  ...['test/crash', 'test/interop', 'test/simulation', 'test/engine', 'test/postgres', 'test/browser'],
  ...SURFACES,
];
/** These alone need a PostgreSQL server, which the first of them starts. */
const POSTGRES = ['test/postgres', 'test/store/postgres-store.test.ts'];
const outside = [...apart.map((folder) => `${folder}/**`), STORE_SUITE].flatMap((pattern) => [
  '--exclude',
  pattern,
]);

/** The page is opened in the browser of the machine. CI brings one and fails without; others are told what was left out. */
const hasBrowser = findChromium() !== undefined || process.env['CI'] !== undefined;

const suites = [
  suite('unit and property tests', 180, outside, folder),
  suite('engine', 90, ['test/engine'], folder),
  suite('surfaces', 150, SURFACES, folder),
  ...(hasBrowser ? [suite('browser', 120, ['test/browser'], folder)] : []),
  suite(
    'store suite',
    90,
    ['memory', 'sqlite', 'jsonl'].map((kind) => STORE_SUITE.replace('*', kind)),
    folder,
  ),
  suite('PostgreSQL', 180, POSTGRES, folder),
  suite('simulation', 120, ['test/simulation'], folder),
  suite('crash tests', 240, ['test/crash'], folder),
];
runSteps([
  { name: 'lint and format', command: ['biome', 'ci', '.'], budgetSeconds: 20 },
  { name: 'types', command: ['tsc', '--noEmit'], budgetSeconds: 30 },
  { name: 'types of the page', command: ['tsc', '-p', 'web', '--noEmit'], budgetSeconds: 20 },
  { name: 'dead code', command: ['knip'], budgetSeconds: 20 },
  ...suites,
]);

const outcomes = suites.map(({ outcome }) => outcome());
// Steps stop at what fails twice, so all of these passed the second time.
const unsteady = outcomes.flatMap(({ failed }) => failed);
const passed = outcomes.reduce((sum, one) => sum + one.passed, unsteady.length);
const skipped = outcomes.reduce((sum, one) => sum + one.skipped, 0);
console.log(`\n${passed} passed, 0 failed, ${skipped} skipped (each says why), ${unsteady.length} unsteady`);
for (const { file, test } of unsteady)
  console.log(
    `unsteady (failed, then passed by itself; a bug of the test or of what it tests): ${file}: ${test}`,
  );
if (!hasBrowser)
  console.log('left out: the tests of the page in a browser. They need Chromium (apt-get install chromium).');
