import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { COMMAND } from './bundled-command.ts';
import { cliEnv } from './cli-env.ts';

/** The environment of a test's command: no colors, and no home or server of the user who runs the tests. */
export const ENVIRONMENT: NodeJS.ProcessEnv = cliEnv();

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
  readonly cwd?: string;
}

/** The real binary with pipes, to its end. */
export function reprise(args: readonly string[], { env = {}, ...options }: RunOptions = {}): Ran {
  return spawnSync(process.execPath, [COMMAND, ...args], {
    encoding: 'utf8',
    env: { ...ENVIRONMENT, ...env },
    maxBuffer: 64 * 1024 * 1024,
    ...options,
  });
}

/** The same beside this process: servers of a test keep answering. */
export async function runBeside(
  args: readonly string[],
  { env = {}, input = '', ...options }: RunOptions = {},
): Promise<Ran> {
  const child = spawn(process.execPath, [COMMAND, ...args], { env: { ...ENVIRONMENT, ...env }, ...options });
  const said = { stdout: '', stderr: '' };
  for (const where of ['stdout', 'stderr'] as const)
    child[where].setEncoding('utf8').on('data', (text: string) => {
      said[where] += text;
    });
  child.stdin.on('error', () => undefined); // one that ends early does not read to the end
  child.stdin.end(input);
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, ...said };
}

/** The real binary, still running. */
export function start(args: readonly string[]): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [COMMAND, ...args], { env: ENVIRONMENT });
}

/** A server of a home on any free port, as a script starts one. */
export async function startServer(home: string, flags: readonly string[] = []): Promise<Server> {
  const child = start(['serve', '--port', '0', '--json', '--home', home, ...flags]);
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { url, tokenFile } = JSON.parse(line) as { url: string; tokenFile: string };
  const close = async (): Promise<void> => {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  };
  return { url, tokenFile, [Symbol.asyncDispose]: close };
}

export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly tokenFile: string;
}
