/** `npm run check`, which is what `npm test` runs: everything that must hold before anything lands. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runSteps } from './steps.ts';

const folder = mkdtempSync(join(tmpdir(), 'reprise-check-'));
const report = join(folder, 'report.json');
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

runSteps([
  { name: 'lint and format', command: ['biome', 'ci', '.'], budgetSeconds: 20 },
  { name: 'types', command: ['tsc', '--noEmit'], budgetSeconds: 30 },
  { name: 'dead code', command: ['knip'], budgetSeconds: 20 },
  {
    name: 'unit and property tests',
    command: ['vitest', 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
    budgetSeconds: 180,
  },
]);

const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8')) as Record<string, number>;
console.log(`\n${numPassedTests} passed, ${numFailedTests} failed`);
