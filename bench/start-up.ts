import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bundleCommand } from '../scripts/bundle.ts';
import type { Homes, Scale } from './homes.ts';
import { makeRow, median, show, type Task } from './measure.ts';

const LIST = 50;
const DEFAULT_PORT = 4747;
/** How often a server that does not listen yet is tried. */
const LOOK_MS = 1;
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
    {
      work: serveTask,
      run: async () => {
        // As people start it, unless they have one running: a port that is named has to be checked first.
        const port = (await freePort(DEFAULT_PORT)) ?? (await freePort(0)) ?? 0;
        const named = port === DEFAULT_PORT ? [] : ['--port', String(port)];
        const home = join(homes.folder, 'served');
        const args = [await built(homes), 'serve', '--json', '--home', home, ...named];
        const answers: number[] = [];
        const run = (): Promise<number> => untilListening(args, port, (ms) => answers.push(ms));
        const row = await compareStarts(serveTask, 3, rounds, run);
        return { ...row, note: `its first answer comes after ${show(median(answers), 'ms')}` };
      },
    },
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

/** Until a server accepts a connection; the time of its first answer is reported separately. */
async function untilListening(
  args: readonly string[],
  port: number,
  onAnswer: (ms: number) => void,
): Promise<number> {
  const begin = performance.now();
  const child = start(args);
  const ended = once(child, 'exit');
  child.stdout?.resume();
  const socket = await connected(port, child);
  const took = performance.now() - begin;
  socket.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  if (!answer.toString().startsWith('HTTP/1.1 200')) throw new Error(answer.toString());
  onAnswer(performance.now() - begin);
  socket.destroy();
  child.kill('SIGTERM');
  await ended;
  return took;
}

async function connected(port: number, child: ReturnType<typeof spawn>): Promise<Socket> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return socket;
    } catch {
      // Refused: it does not listen yet, or never will.
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
      await sleep(LOOK_MS);
    }
  }
}

/** Undefined: it is taken. */
async function freePort(wanted: number): Promise<number | undefined> {
  const server = createServer().listen(wanted, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return undefined;
  }
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
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
