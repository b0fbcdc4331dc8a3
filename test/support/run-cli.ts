import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { cliEnv } from './cli-env.ts';

export interface CliResult {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command as users run it, beside this process: servers of a test go on answering. */
export function runCli(
  args: readonly string[],
  {
    input = '',
    env = {},
    cwd,
  }: { readonly input?: string; readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {},
): Promise<CliResult> {
  const bin = join(process.cwd(), 'bin/reprise.cjs');
  const child = spawn(process.execPath, [bin, ...args], {
    env: cliEnv(env),
    ...(cwd !== undefined && { cwd }),
  });
  const said = { stdout: '', stderr: '' };
  for (const where of ['stdout', 'stderr'] as const)
    child[where].setEncoding('utf8').on('data', (text: string) => {
      said[where] += text;
    });
  child.stdin.on('error', () => undefined); // one that ends early does not read to the end
  child.stdin.end(input);
  return new Promise((resolve) => child.on('close', (status) => resolve({ status, ...said })));
}
