import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

export interface Step {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** Printed beside the measured time. A step over its budget is marked, not failed, because machines differ. */
  readonly budgetSeconds: number;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** @returns the part of a failed step to run a second time, or undefined if the failure is final. */
  readonly again?: () => Step | undefined;
}

export interface StepResult {
  readonly name: string;
  readonly ok: boolean;
  readonly seconds: number;
  readonly budgetSeconds: number;
}

/** Tests start thousands of threads and processes from the same sources; the compile cache halves their start time. */
const ENV = { ...process.env, NODE_COMPILE_CACHE: resolve('node_modules/.cache/node') };

/** Runs every step in order, also after a failure, so that one run reports everything that is broken. */
export function runSteps(steps: readonly Step[]): readonly StepResult[] {
  return steps.map((step) => {
    const first = runStep(step);
    const again = first.ok ? undefined : step.again?.();
    if (again === undefined) return first;
    const second = runStep(again);
    return { ...first, ok: second.ok, seconds: first.seconds + second.seconds };
  });
}

/** Prints one line per step and sets the exit code of this process. */
export function reportSteps(results: readonly StepResult[]): void {
  console.log('');
  for (const result of results) console.log(describe(result));
  if (results.some(({ ok }) => !ok)) process.exitCode = 1;
}

function runStep({ name, command, budgetSeconds, env }: Step): StepResult {
  console.log(`\n== ${name}: ${command.join(' ').slice(0, 300)}`);
  const start = performance.now();
  const [file, ...args] = command;
  const { status, error } = spawnSync(file, args, { stdio: 'inherit', env: { ...ENV, ...env } });
  if (error !== undefined) throw error;
  const seconds = (performance.now() - start) / 1000;
  const result = { name, ok: status === 0, seconds, budgetSeconds };
  console.log(describe(result));
  return result;
}

function describe({ name, ok, seconds, budgetSeconds }: StepResult): string {
  const over = seconds > budgetSeconds ? ', OVER BUDGET' : '';
  return `== ${name}: ${ok ? 'ok' : 'FAILED'}, ${seconds.toFixed(1)} s of ${budgetSeconds} s${over}`;
}
