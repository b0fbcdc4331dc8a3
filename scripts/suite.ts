import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Step } from './steps.ts';
import { OUTCOME_FILE, type Outcome } from './suite-reporter.ts';

export interface Suite extends Step {
  /** @returns how the first run ended, or undefined if it died before its report. */
  readonly outcome: () => Outcome | undefined;
}

/** Failures in more files than this are not chance, so nothing is run a second time. */
const MAX_FILES_RUN_AGAIN = 2;

/** One run of Vitest; its outcome is written to `folder`. A few failing files are run a second time (decision 20). */
export function suite(
  name: string,
  budgetSeconds: number,
  args: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Suite {
  const report = join(folder, `${name.replaceAll(' ', '-')}.json`);
  const outcome = (): Outcome | undefined =>
    existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as Outcome) : undefined;
  return {
    name,
    budgetSeconds,
    command: ['vitest', 'run', ...args, '--reporter=default', '--reporter=./scripts/suite-reporter.ts'],
    env: { ...env, [OUTCOME_FILE]: report },
    outcome,
    again: () => {
      const { failed = [], otherFailures = 0 } = outcome() ?? {};
      const files = [...new Set(failed.map(({ file }) => file))];
      if (files.length === 0 || files.length > MAX_FILES_RUN_AGAIN || otherFailures > 0) return undefined;
      const options = args.filter((arg) => arg.startsWith('--tags-filter'));
      const once = suite(`${name}, second run`, budgetSeconds, [...files, ...options], folder, env);
      const { outcome: _, again: __, ...step } = once;
      return step;
    },
  };
}
