/** `npm run check`, which is what `npm test` runs: everything that must hold before anything lands. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium } from '../test/browser/support/browser.ts';
import { runSteps, type Step } from './steps.ts';

const folder = mkdtempSync(join(tmpdir(), 'reprise-check-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** One suite of tests, with its own report, so that the closing line can count them all. */
function suite(
  name: string,
  budgetSeconds: number,
  args: readonly string[],
): Step & { readonly report: string } {
  const report = join(folder, `${name.replaceAll(' ', '-')}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  return { name, budgetSeconds, command: ['vitest', 'run', ...args, ...reporters], report };
}

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
  suite('unit and property tests', 180, outside),
  suite('engine', 90, ['test/engine']),
  suite('surfaces', 150, SURFACES),
  ...(hasBrowser ? [suite('browser', 120, ['test/browser'])] : []),
  suite(
    'store suite',
    90,
    ['memory', 'sqlite', 'jsonl'].map((kind) => STORE_SUITE.replace('*', kind)),
  ),
  suite('PostgreSQL', 180, POSTGRES),
  suite('simulation', 120, ['test/simulation']),
  suite('crash tests', 240, ['test/crash']),
];
runSteps([
  { name: 'lint and format', command: ['biome', 'ci', '.'], budgetSeconds: 20 },
  { name: 'types', command: ['tsc', '--noEmit'], budgetSeconds: 30 },
  { name: 'types of the page', command: ['tsc', '-p', 'web', '--noEmit'], budgetSeconds: 20 },
  { name: 'dead code', command: ['knip'], budgetSeconds: 20 },
  ...suites,
]);

let [passed, failed, skipped] = [0, 0, 0];
for (const { report } of suites) {
  const counts = JSON.parse(readFileSync(report, 'utf8')) as {
    numPassedTests: number;
    numFailedTests: number;
    numPendingTests: number;
  };
  passed += counts.numPassedTests;
  failed += counts.numFailedTests;
  skipped += counts.numPendingTests;
}
console.log(`\n${passed} passed, ${failed} failed, ${skipped} skipped (each says why)`);
if (!hasBrowser)
  console.log('left out: the tests of the page in a browser. They need Chromium (apt-get install chromium).');
