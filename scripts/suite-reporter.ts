import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

/** How the run of a suite went. */
export interface Outcome {
  readonly passed: number;
  readonly skipped: number;
  readonly failed: readonly { readonly file: string; readonly test: string }[];
  /** Whatever else fails a run: files that could not be loaded, hooks, errors outside of every test. */
  readonly otherFailures: number;
}

/** Where the outcome is written to. */
export const OUTCOME_FILE = 'REPRISE_SUITE_OUTCOME';

export default class SuiteReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const inState = (state: string): typeof tests => tests.filter((test) => test.result().state === state);
    const suites = modules.flatMap((module) => [module, ...module.children.allSuites()]);
    const outcome: Outcome = {
      passed: inState('passed').length,
      skipped: inState('skipped').length,
      failed: inState('failed').map(({ module, fullName }) => ({
        file: module.relativeModuleId,
        test: fullName,
      })),
      otherFailures: unhandled.length + suites.flatMap((suite) => suite.errors()).length,
    };
    const file = process.env[OUTCOME_FILE];
    if (file !== undefined) writeFileSync(file, JSON.stringify(outcome));
  }
}
