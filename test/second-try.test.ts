import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { suite } from '../scripts/suite.ts';

const folder = mkdtempSync(join(tmpdir(), 'reprise-second-try-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A suite whose run told of these files, each with the outcomes of its tests. */
function ran(
  name: string,
  files: Record<string, readonly ('passed' | 'failed')[]>,
): ReturnType<typeof suite> {
  const testResults = Object.entries(files).map(([file, outcomes]) => ({
    name: resolve(file),
    assertionResults: outcomes.map((status, i) => ({ fullName: `test ${i} of ${file}`, status })),
  }));
  const numPassedTests = Object.values(files)
    .flat()
    .filter((status) => status === 'passed').length;
  writeFileSync(
    join(folder, `${name}.json`),
    JSON.stringify({ numPassedTests, numPendingTests: 0, testResults }),
  );
  return suite(name, 1, ['test'], folder);
}

describe('a suite that failed', () => {
  test('is tried once more in the files that failed, by themselves, and names the tests', () => {
    const { again, outcome } = ran('few', {
      'test/a.test.ts': ['passed'],
      'test/b.test.ts': ['failed', 'passed'],
    });
    expect(again?.()?.command.slice(0, 3)).toEqual(['vitest', 'run', 'test/b.test.ts']);
    expect(outcome()).toEqual({
      passed: 2,
      skipped: 0,
      failed: [{ file: 'test/b.test.ts', test: 'test 0 of test/b.test.ts' }],
    });
  });

  test('has failed for good the second time, in many files, by no test, and where nothing was reported', () => {
    const { again } = ran('twice', { 'test/a.test.ts': ['failed'] });
    expect(again?.()?.again).toBeUndefined();
    const many = {
      'test/a.test.ts': ['failed'],
      'test/b.test.ts': ['failed'],
      'test/c.test.ts': ['failed'],
    } as const;
    expect(ran('many', many).again?.()).toBeUndefined();
    expect(ran('none', { 'test/a.test.ts': ['passed'], 'test/b.test.ts': [] }).again?.()).toBeUndefined();
    expect(suite('silent', 1, ['test'], folder).again?.()).toBeUndefined();
  });
});
