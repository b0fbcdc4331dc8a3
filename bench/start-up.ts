import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundleCommand } from '../scripts/bundle.ts';
import type { Homes, Scale } from './homes.ts';
import { makeRow, median, type Task } from './measure.ts';

const LIST = 50;
/** What Node compiled is kept between starts, as it is for users; but not among what they have. */
const CACHE = resolve('bench', 'results', 'cache');

/** From the prompt to the answer, as a script that calls the command feels it: the published build, not the sources. */
export function startUpTasks(homes: Homes, { sessions, latency }: Scale): Task[] {
  const rounds = latency.count * 2;
  const versionTask = 'start-up: reprise --version (p50)';
  const listTask = `start-up: reprise ls with ${sessions.toLocaleString('en')} sessions (p50)`;
  const serveTask = 'start-up: reprise serve until it listens (p50)';
  const task = (work: string, goal: number, arm: () => Promise<() => Promise<number>>): Task => ({
    work,
    run: async () => compareStarts(work, goal, rounds, await arm()),
  });
  return [
    task(versionTask, 1.5, async () => {
      const program = await built(homes);
      return () => untilEnd([program, '--version']);
    }),
    task(listTask, 2, async () => {
      const { folder } = await homes.sessions(sessions);
      const args = [await built(homes), 'ls', '--home', folder, '--limit', String(LIST)];
      return () => untilEnd(args);
    }),
    task(serveTask, 3, async () => {
      const home = join(homes.folder, 'served');
      const args = [await built(homes), 'serve', '--port', '0', '--json', '--home', home];
      return () => untilSaid(args);
    }),
  ];
}

async function compareStarts(
  work: string,
  goal: number,
  rounds: number,
  run: () => Promise<number>,
): Promise<ReturnType<typeof makeRow>> {
  const limit: number[] = [];
  const ours: number[] = [];
  await run();
  for (let i = 0; i < rounds; i++) {
    limit.push(await untilEnd(['-e', '0']));
    ours.push(await run());
  }
  return makeRow({
    work,
    limit: 'node -e 0',
    goal,
    unit: 'ms',
    limitValue: median(limit),
    oursValue: median(ours),
  });
}

function start(args: readonly string[]): ReturnType<typeof spawn> {
  // Reading more certificates than its own is no part of what is compared.
  const { NODE_EXTRA_CA_CERTS: _, ...outer } = process.env;
  const env = { ...outer, XDG_CACHE_HOME: CACHE };
  return spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
}

async function untilEnd(args: readonly string[]): Promise<number> {
  const begin = performance.now();
  const child = start(args);
  child.stdout?.resume();
  const [status] = (await once(child, 'exit')) as [number | null];
  const took = performance.now() - begin;
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}`);
  return took;
}

/** Until the first word of it, which a server says when it listens. */
async function untilSaid(args: readonly string[]): Promise<number> {
  const begin = performance.now();
  const child = start(args);
  const ended = once(child, 'exit');
  if (child.stdout === null) throw new Error('no output to wait for');
  await Promise.race([once(child.stdout, 'data'), ended]);
  const took = performance.now() - begin;
  if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended with ${child.exitCode}`);
  child.kill('SIGTERM');
  await ended;
  return took;
}

let program: Promise<string> | undefined;

/** A package as npm would unpack it, beside the homes. */
function built({ folder }: Homes): Promise<string> {
  program ??= build(join(folder, 'package'));
  return program;
}

async function build(place: string): Promise<string> {
  mkdirSync(place, { recursive: true });
  await bundleCommand(join(place, 'dist', 'command'));
  cpSync('bin', join(place, 'bin'), { recursive: true });
  cpSync('package.json', join(place, 'package.json'));
  symlinkSync(resolve('node_modules'), join(place, 'node_modules'));
  return join(place, 'bin', 'reprise.cjs');
}
