import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Step } from './steps.ts';
import { OUTCOME_FILE, type Outcome } from './suite-reporter.ts';

export interface Suite extends Step {
  /** How it went, the first time. */
  readonly outcome: () => Outcome;
}

/** What fails in more files than these is no accident. */
const FEW_FILES = 2;

/** One suite of tests, whose outcome is kept in `folder`. Few failures are tried once more by themselves (decision 60). */
export function suite(name: string, budgetSeconds: number, args: readonly string[], folder: string): Suite {
  const report = join(folder, `${name.replaceAll(' ', '-')}.json`);
  const outcome = (): Outcome => JSON.parse(readFileSync(report, 'utf8')) as Outcome;
  return {
    name,
    budgetSeconds,
    command: ['vitest', 'run', ...args, '--reporter=default', '--reporter=./scripts/suite-reporter.ts'],
    env: { [OUTCOME_FILE]: report },
    outcome,
    again: () => {
      // Whatever ended the run before its report was no test.
      if (!existsSync(report)) return undefined;
      const { failed, otherFailures } = outcome();
      const files = [...new Set(failed.map(({ file }) => file))];
      if (files.length === 0 || files.length > FEW_FILES || otherFailures > 0) return undefined;
      const { outcome: _, again: __, ...once } = suite(`${name}, once more`, budgetSeconds, files, folder);
      return once;
    },
  };
}
