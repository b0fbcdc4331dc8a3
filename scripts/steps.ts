import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

export interface Step {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** Printed with the time it took; a step over budget is pointed out, not failed: machines differ. */
  readonly budgetSeconds: number;
  /** Beside those of whoever started it. */
  readonly env?: Readonly<Record<string, string>>;
  /** What of it is tried once more when it failed; nothing: it has failed. */
  readonly again?: () => Step | undefined;
}

/** Tests start thousands of threads and processes from the same sources; compiled once, half of that time is saved. */
const ENV = { ...process.env, NODE_COMPILE_CACHE: resolve('node_modules/.cache/node') };

/** Runs steps one after the other, says what each cost, and stops at the first that fails. */
export function runSteps(steps: readonly Step[]): void {
  for (const step of steps) {
    let status = runStep(step);
    if (status === 0) continue;
    const again = step.again?.();
    if (again !== undefined) status = runStep(again);
    if (status !== 0) process.exit(status);
  }
}

function runStep({ name, command, budgetSeconds, env }: Step): number {
  console.log(`\n== ${name}: ${command.join(' ')}`);
  const start = performance.now();
  const [file, ...args] = command;
  const { status, error } = spawnSync(file, args, { stdio: 'inherit', env: { ...ENV, ...env } });
  if (error !== undefined) throw error;
  const seconds = (performance.now() - start) / 1000;
  const over = seconds > budgetSeconds ? ', OVER BUDGET' : '';
  console.log(
    `== ${name}: ${status === 0 ? 'ok' : 'FAILED'}, ${seconds.toFixed(1)} s of ${budgetSeconds} s${over}`,
  );
  return status ?? 1;
}
