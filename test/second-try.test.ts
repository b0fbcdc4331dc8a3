import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { runSteps, type Step } from '../scripts/steps.ts';
import { suite } from '../scripts/suite.ts';
import type { Outcome } from '../scripts/suite-reporter.ts';

const folder = mkdtempSync(join(tmpdir(), 'reprise-second-try-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A suite whose first run ended with this outcome. */
function ran(name: string, outcome: Partial<Outcome>): ReturnType<typeof suite> {
  const whole: Outcome = { passed: 1, skipped: [], failed: [], otherFailures: 0, folders: {}, ...outcome };
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(whole));
  return suite(name, 1, ['test', '--tags-filter=!long'], folder);
}

const failedIn = (...files: readonly string[]): Outcome['failed'] =>
  files.map((file) => ({ file, test: 'a test' }));

const step = (name: string, status: number): Step => ({
  name,
  command: [process.execPath, '-e', `process.exit(${status})`],
  budgetSeconds: 60,
});

describe('steps', () => {
  test('all run and are reported, also after one that failed', () => {
    const results = runSteps([step('first', 0), step('second', 3), step('third', 0)]);
    expect(results.map(({ name, ok }) => [name, ok])).toEqual([
      ['first', true],
      ['second', false],
      ['third', true],
    ]);
  });

  test('a second run that passes makes its step pass', () => {
    expect(
      runSteps([{ ...step('unsteady', 1), again: () => step('unsteady, second run', 0) }]),
    ).toMatchObject([{ name: 'unsteady', ok: true }]);
  });
});

describe('a suite that failed', () => {
  test('runs the files that failed a second time, with the same tag filter', () => {
    const { again } = ran('few', { failed: failedIn('test/a.test.ts', 'test/a.test.ts', 'test/b.test.ts') });
    expect(again?.()?.command.slice(0, 6)).toEqual([
      'vitest',
      'run',
      'test/a.test.ts',
      'test/b.test.ts',
      '--tags-filter=!long',
      '--reporter=default',
    ]);
  });

  test('has failed for good after the second run, in many files, beside other errors, and without a report', () => {
    expect(ran('twice', { failed: failedIn('a') }).again?.()?.again).toBeUndefined();
    expect(ran('many', { failed: failedIn('a', 'b', 'c') }).again?.()).toBeUndefined();
    expect(ran('none', {}).again?.()).toBeUndefined();
    expect(ran('beside', { failed: failedIn('a'), otherFailures: 1 }).again?.()).toBeUndefined();
    expect(suite('silent', 1, ['test'], folder).again?.()).toBeUndefined();
  });

  test('reports every test by its state, and failures outside of tests', () => {
    const files = {
      'states.test.ts': `test('good', () => {}); test.skip('left out', () => {}); describe('group', () => test('bad', () => { throw new Error('no'); }));`,
      'unloaded.test.ts': `throw new Error('at its beginning');`,
      'hook.test.ts': `beforeAll(() => { throw new Error('before all'); }); test('never begun', () => {});`,
      'outside.test.ts': `test('good', () => { void Promise.reject(new Error('not awaited')); });`,
    };
    for (const [name, source] of Object.entries(files)) writeFileSync(join(folder, name), source);
    const { command, env, outcome } = suite('states', 60, ['--root', folder, '--globals'], folder);
    const reporter = join(process.cwd(), 'scripts/suite-reporter.ts');
    const args = command.slice(1).map((arg) => arg.replace('./scripts/suite-reporter.ts', reporter));
    spawnSync('vitest', args, { env: { ...process.env, ...env }, stdio: 'ignore' });
    expect(outcome()).toMatchObject({
      passed: 2,
      failed: [{ file: 'states.test.ts', test: 'group > bad' }],
      // The first one because its hook failed.
      skipped: [
        { file: 'hook.test.ts', test: 'never begun' },
        { file: 'states.test.ts', test: 'left out' },
      ],
      otherFailures: 3,
      folders: { other: { passed: 2, failed: 1 } },
    });
  });
});
