import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { suite } from '../scripts/suite.ts';
import type { Outcome } from '../scripts/suite-reporter.ts';

const folder = mkdtempSync(join(tmpdir(), 'reprise-second-try-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A suite whose run ended so. */
function ran(name: string, outcome: Partial<Outcome>): ReturnType<typeof suite> {
  const whole: Outcome = { passed: 1, skipped: 0, failed: [], otherFailures: 0, ...outcome };
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(whole));
  return suite(name, 1, ['test'], folder);
}

const failedIn = (...files: readonly string[]): Outcome['failed'] =>
  files.map((file) => ({ file, test: 'a test' }));

describe('a suite that failed', () => {
  test('is tried once more in the files that failed, by themselves', () => {
    const { again } = ran('few', { failed: failedIn('test/a.test.ts', 'test/a.test.ts', 'test/b.test.ts') });
    expect(again?.()?.command.slice(0, 5)).toEqual([
      'vitest',
      'run',
      'test/a.test.ts',
      'test/b.test.ts',
      '--reporter=default',
    ]);
  });

  test('has failed for good the second time, in many files, by no test or beside other errors, and where nothing was told', () => {
    expect(ran('twice', { failed: failedIn('a') }).again?.()?.again).toBeUndefined();
    expect(ran('many', { failed: failedIn('a', 'b', 'c') }).again?.()).toBeUndefined();
    expect(ran('none', {}).again?.()).toBeUndefined();
    expect(ran('beside', { failed: failedIn('a'), otherFailures: 1 }).again?.()).toBeUndefined();
    expect(suite('silent', 1, ['test'], folder).again?.()).toBeUndefined();
  });

  test('is told as it was: tests by their state, and what failed outside of them', () => {
    const files = {
      'states.test.ts': `test('good', () => {}); test.skip('left out', () => {}); describe('room', () => test('bad', () => { throw new Error('no'); }));`,
      'unloaded.test.ts': `throw new Error('at its beginning');`,
      'hook.test.ts': `beforeAll(() => { throw new Error('before all'); }); test('never begun', () => {});`,
      'outside.test.ts': `test('good', () => { void Promise.reject(new Error('nobody waits')); });`,
    };
    for (const [name, source] of Object.entries(files)) writeFileSync(join(folder, name), source);
    const { command, env, outcome } = suite('states', 60, ['--root', folder, '--globals'], folder);
    const reporter = join(process.cwd(), 'scripts/suite-reporter.ts');
    const args = command.slice(1).map((arg) => arg.replace('./scripts/suite-reporter.ts', reporter));
    spawnSync('vitest', args, { env: { ...process.env, ...env }, stdio: 'ignore' });
    const { passed, skipped, failed, otherFailures } = outcome();
    expect({ passed, failed, skipped }).toEqual({
      passed: 2,
      failed: [{ file: 'states.test.ts', test: 'room > bad' }],
      // With the one whose hook failed.
      skipped: 2,
    });
    expect(otherFailures).toBe(3);
  });
});
