// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { startDriver } from '../../../testing/crash/driver-process.ts';
import { OPEN_STORE } from '../../support/processes/bundled-program.ts';
import {
  must,
  SESSION,
  say,
  says,
  succeeds,
  TestHome,
  told,
  until,
} from '../../support/store/store-faults.ts';

const ROUNDS = 30;

/** Appends without a rest, and counts aloud. */
const BUSY = `
import { openStore } from ${JSON.stringify(OPEN_STORE)};
const [, home, signals] = process.argv;
const hear = () => console.log('host heard it');
if (signals === 'before') process.once('SIGTSTP', hear);
const store = await openStore({ kind: 'jsonl', home, durability: 'os', signals: signals !== 'none' });
if (signals === 'after') process.on('SIGTSTP', hear);
let count = 0;
const entry = { type: 'message', message: { role: 'user', content: 'x'.repeat(1500) } };
for (let i = 0; i < 64; i++) (async () => { for (;; count++) await store.append('busy', [entry]); })();
console.log('pid ' + process.pid);
setInterval(() => console.log('count ' + count), 20);
`;

interface Busy extends AsyncDisposable {
  readonly pid: number;
  count(): number;
  output(): string;
}

/**
 * Under a shell with job control: a process that no shell could continue is not stopped by SIGTSTP at all, and
 * that is what a process of a test runner often is.
 */
async function startBusy(home: string, signals: string): Promise<Busy> {
  const run = ['--input-type=module', '-e', BUSY, home, signals];
  // It waits for its input to end, not for its job: `wait` is over when a job stops.
  const child = spawn('bash', ['-c', 'set -m; "$0" "$@" </dev/null & read -r _', process.execPath, ...run], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-10_000);
  });
  const [, pid = ''] = /pid (\d+)/.exec(await says(child, '\ncount ')) ?? [];
  // It writes as long as it lives: before its home is removed, both must have ended, and both share one output.
  const end = async (): Promise<void> => {
    const gone = once(child, 'close');
    process.kill(Number(pid), 'SIGKILL');
    child.kill('SIGKILL');
    await gone;
  };
  const count = (): number => Number(/count (\d+)\n(?!.*count)/s.exec(output)?.[1] ?? 0);
  return { pid: Number(pid), count, output: () => output, [Symbol.asyncDispose]: end };
}

const isStopped = (pid: number): boolean => /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));

const cannot =
  process.platform !== 'linux' ? 'needs /proc' : succeeds('bash', '-c', 'set -m') ? undefined : 'needs bash';

describe.skipIf(cannot !== undefined)(`Ctrl-Z${cannot ? ` (skipped: ${cannot})` : ''}`, () => {
  test(`a process stopped ${ROUNDS} times while it writes never locks out another, and continues`, async () => {
    using at = new TestHome();
    await using other = await startDriver({ ...at.options('jsonl'), durability: 'os' });
    await must(other, SESSION);
    await must(other, { op: 'create', id: 'busy', key: 'agent:main:busy' });
    await using busy = await startBusy(at.home, 'ours');
    let worst = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const before = busy.count();
      await until('the busy one to go on', () => busy.count() > before);
      process.kill(busy.pid, 'SIGTSTP');
      await until('it to be stopped', () => isStopped(busy.pid));
      const began = performance.now();
      await must(other, { op: 'append', id: 's', ...say(`round ${round}`) });
      worst = Math.max(worst, performance.now() - began);
      expect(isStopped(busy.pid)).toBe(true);
      process.kill(busy.pid, 'SIGCONT');
    }
    told(`Ctrl-Z: stopped ${ROUNDS} times, another append took at most ${Math.round(worst)} ms`);
    expect(await must(other, { op: 'verify' })).toMatchObject({ status: 'clean' });
  });

  test.each(['before', 'after'])(
    'a program that listens %s the store is opened decides itself',
    async (when) => {
      using at = new TestHome();
      await using other = await startDriver({ ...at.options('jsonl'), durability: 'os' });
      await must(other, { op: 'create', id: 'busy', key: 'agent:main:busy' });
      await using busy = await startBusy(at.home, when);
      process.kill(busy.pid, 'SIGTSTP');
      await until('the program to hear it', () => busy.output().includes('host heard it'));
      const before = busy.count();
      await until('the program to go on', () => busy.count() > before);
      expect(isStopped(busy.pid)).toBe(false);
      expect(busy.output().match(/host heard it/g)).toHaveLength(1);
    },
  );
});
