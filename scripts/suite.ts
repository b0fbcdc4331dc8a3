import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Step } from './steps.ts';

/** What Vitest writes about a run, as far as it is asked for here. */
interface Report {
  readonly numPassedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

export interface Suite extends Step {
  /** How it went, the first time. */
  readonly outcome: () => Outcome;
}

interface Outcome {
  readonly passed: number;
  readonly skipped: number;
  readonly failed: readonly { readonly file: string; readonly test: string }[];
}

/** What fails in more files than these is no accident. */
const FEW_FILES = 2;

/** One suite of tests, with a report of its own in `folder`. Few failures are tried once more by themselves (decision 60). */
export function suite(name: string, budgetSeconds: number, args: readonly string[], folder: string): Suite {
  const report = join(folder, `${name.replaceAll(' ', '-')}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  return {
    name,
    budgetSeconds,
    command: ['vitest', 'run', ...args, ...reporters],
    outcome: () => readOutcome(report),
    again: () => {
      // Whatever ended the run before its report was no test.
      if (!existsSync(report)) return undefined;
      const files = [...new Set(readOutcome(report).failed.map(({ file }) => file))];
      if (files.length === 0 || files.length > FEW_FILES) return undefined;
      const { outcome: _, again: __, ...once } = suite(`${name}, once more`, budgetSeconds, files, folder);
      return once;
    },
  };
}

function readOutcome(report: string): Outcome {
  const { numPassedTests, numPendingTests, testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  const failed = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName }) => ({ file: relative(process.cwd(), name), test: fullName })),
  );
  return { passed: numPassedTests, skipped: numPendingTests, failed };
}
