import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Homes, Scale } from './homes.ts';
import { makeRow, median, type Task } from './measure.ts';

const LIST = 50;

/** From the prompt to the answer, as a script that calls the command feels it: the published build, not the sources. */
export function startUpTasks(homes: Homes, { sessions, latency }: Scale): Task[] {
  const rounds = latency.count * 2;
  const versionTask = 'start-up: reprise --version (p50)';
  const listTask = `start-up: reprise ls with ${sessions.toLocaleString('en')} sessions (p50)`;
  return [
    {
      work: versionTask,
      run: () => compareStarts(versionTask, 1.5, rounds, [built(homes), '--version']),
    },
    {
      work: listTask,
      run: async () => {
        const { folder } = await homes.sessions(sessions);
        const args = [built(homes), 'ls', '--home', folder, '--limit', String(LIST)];
        return compareStarts(listTask, 2, rounds, args);
      },
    },
  ];
}

function compareStarts(
  work: string,
  goal: number,
  rounds: number,
  args: readonly string[],
): ReturnType<typeof makeRow> {
  const limit: number[] = [];
  const ours: number[] = [];
  start(args);
  for (let i = 0; i < rounds; i++) {
    limit.push(start(['-e', '0']));
    ours.push(start(args));
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

function start(args: readonly string[]): number {
  // Reading more certificates than its own is no part of what is compared.
  const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
  const begin = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  const took = performance.now() - begin;
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
  return took;
}

let program: string | undefined;

/** A package as npm would unpack it, beside the homes. */
function built({ folder }: Homes): string {
  if (program !== undefined) return program;
  const place = join(folder, 'package');
  mkdirSync(place, { recursive: true });
  execFileSync(process.execPath, [
    'node_modules/typescript/bin/tsc',
    '-p',
    'tsconfig.build.json',
    '--outDir',
    join(place, 'dist'),
  ]);
  cpSync('bin', join(place, 'bin'), { recursive: true });
  cpSync('package.json', join(place, 'package.json'));
  symlinkSync(resolve('node_modules'), join(place, 'node_modules'));
  program = join(place, 'bin', 'reprise.cjs');
  return program;
}
