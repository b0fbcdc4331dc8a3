import { execFileSync } from 'node:child_process';
import { cliEnv } from './cli-env.ts';

/** Runs an example as `npm run example` does. */
export function runExample(file: string, ...args: readonly string[]): string {
  const flags = ['--import', new URL('../../../scripts/own-doors.ts', import.meta.url).href];
  return execFileSync(process.execPath, [...flags, file, ...args], { encoding: 'utf8', env: cliEnv() });
}
