import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node';

export interface TestName {
  readonly file: string;
  readonly test: string;
}

/** How one run of Vitest ended. */
export interface Outcome {
  readonly passed: number;
  /** Tests that skipped themselves. Tests left out by the tag filter do not count. */
  readonly skipped: readonly TestName[];
  readonly failed: readonly TestName[];
  /** Everything else that fails a run: files that could not be loaded, hooks, errors outside of tests. */
  readonly otherFailures: number;
  /** By top folder of test/. `seconds` adds up the time of files that ran side by side. */
  readonly folders: Readonly<Record<string, FolderOutcome>>;
}

export interface FolderOutcome {
  readonly passed: number;
  readonly failed: number;
  readonly seconds: number;
}

/** Names the file that the outcome is written to. */
export const OUTCOME_FILE = 'REPRISE_SUITE_OUTCOME';

export default class SuiteReporter implements Reporter {
  #filter = '';

  onInit(vitest: Vitest): void {
    this.#filter = vitest.config.tagsFilter?.join(' ') ?? '';
  }

  onTestRunEnd(ended: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const file = process.env[OUTCOME_FILE];
    if (file === undefined) return;
    const modules = [...ended].sort((a, b) => a.relativeModuleId.localeCompare(b.relativeModuleId));
    const suites = modules.flatMap((module) => [module, ...module.children.allSuites()]);
    const outcome: Outcome = {
      passed: modules.reduce((sum, module) => sum + namesIn(module, 'passed').length, 0),
      skipped: modules.flatMap((module) => namesIn(module, 'skipped', this.#filter)),
      failed: modules.flatMap((module) => namesIn(module, 'failed')),
      otherFailures: unhandled.length + suites.flatMap((suite) => suite.errors()).length,
      folders: byFolder(modules),
    };
    writeFileSync(file, JSON.stringify(outcome));
  }
}

function namesIn(module: TestModule, state: string, filter = ''): TestName[] {
  return [...module.children.allTests()]
    .filter((test) => test.result().state === state && !isLeftOut(test.options.tags ?? [], filter))
    .map(({ fullName }) => ({ file: module.relativeModuleId, test: fullName }));
}

/** The two filters that scripts/check.ts uses: `!long`, and `long || scaled`. */
function isLeftOut(tags: readonly string[], filter: string): boolean {
  if (filter === '') return false;
  return filter === '!long' ? tags.includes('long') : tags.length === 0;
}

function byFolder(modules: readonly TestModule[]): Record<string, FolderOutcome> {
  const folders: Record<string, FolderOutcome> = {};
  for (const module of modules) {
    const [, name = '', ...rest] = module.relativeModuleId.split('/');
    const folder = rest.length === 0 ? 'other' : name;
    const { passed, failed, seconds } = folders[folder] ?? { passed: 0, failed: 0, seconds: 0 };
    folders[folder] = {
      passed: passed + namesIn(module, 'passed').length,
      failed: failed + namesIn(module, 'failed').length,
      seconds: seconds + module.diagnostic().duration / 1000,
    };
  }
  return folders;
}
