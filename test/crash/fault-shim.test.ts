// @module-tag long
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Answer, type DriverOptions, startDriver } from '../../testing/crash/driver-process.ts';
import {
  ALL_WRITES,
  type FaultPlan,
  faultEnv,
  faultShimSupport,
  readFaultLog,
} from '../../testing/crash/fault-shim.ts';
import { appendCommand, createHistory, type History } from '../../testing/crash/history.ts';
import { assertClean, judgeHistory, readSession } from '../../testing/crash/judge.ts';
import { retryUnknown } from '../../testing/crash/load.ts';

const { supported, reason } = faultShimSupport();
const title = supported ? 'the fault shim' : `the fault shim (skipped: ${reason})`;
const toy = fileURLToPath(new URL('../support/processes/toy-driver.ts', import.meta.url));
const toySqlite = fileURLToPath(new URL('../support/processes/toy-driver-sqlite.ts', import.meta.url));

let home = '';
let log = '';
let history: History = createHistory();
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-fault-'));
  log = join(home, 'fault.log');
  history = createHistory();
});
afterEach(() => rmSync(home, { recursive: true }));

function driverOf(script: string, plan?: Omit<FaultPlan, 'log'>): DriverOptions {
  return { store: 'correct', home, script, env: plan ? faultEnv({ ...plan, log }) : {} };
}

/** Appends one after the other until the process is gone. */
async function appendAll(options: DriverOptions, count: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  await using driver = await startDriver(options);
  for (let at = 0; at < count; at++) {
    const attempt = history.begin({ session: 's', sizes: [300] });
    const answer = await driver.send(appendCommand(attempt));
    history.settle(attempt.key, answer);
    answers.push(answer);
    if (answer.details?.['died'] === true) break;
  }
  await driver.stop();
  return answers;
}

/** What a process without faults sees, before and after it retries the unknown. */
async function judgeAfterwards(script: string): Promise<void> {
  await using driver = await startDriver(driverOf(script));
  const judge = async () => judgeHistory(history, new Map([['s', await readSession(driver, 's')]]));
  assertClean(await judge());
  await retryUnknown(history, driver);
  const report = await judge();
  assertClean(report);
  expect(report.unknown).toBe(0);
}

const outcomes = (answers: readonly Answer[]) => answers.map(({ ok, outcome }) => (ok ? 'ok' : outcome));

describe.skipIf(!supported)(title, () => {
  test.each([
    ['kill', 'write', 0],
    ['kill-after', 'write', 1],
    ['kill-after', 'fdatasync', 1],
  ] as const)('%s at the third %s of fs ends the process there', async (action, call, landed) => {
    const answers = await appendAll(driverOf(toy, { path: '.toy', calls: [call], at: 3, action }), 5);
    expect(outcomes(answers)).toEqual(['ok', 'ok', 'unknown']);
    expect(readFaultLog(log)).toEqual([
      { pid: expect.any(Number), call, number: 3, action, path: join(home, 's.toy') },
    ]);
    expect(readFileSync(join(home, 's.toy'), 'utf8').split('\n')).toHaveLength(3 + landed);
    await judgeAfterwards(toy);
  });

  test.each(['eio', 'enospc'] as const)('%s fails as many calls as asked for and no more', async (action) => {
    const plan = { path: '.toy', calls: ['write'], at: 2, count: 2, action } as const;
    const answers = await appendAll(driverOf(toy, plan), 5);
    expect(outcomes(answers)).toEqual(['ok', 'unknown', 'unknown', 'ok', 'ok']);
    expect(answers[1]?.details?.['error']).toContain(action.toUpperCase());
    expect(readFaultLog(log).map(({ number }) => number)).toEqual([2, 3]);
    await judgeAfterwards(toy);
  });

  test('a short write is made good by Node; with a full disk after it, it is a short count', async () => {
    const short = { path: '.toy', calls: ['write'], at: 1, count: 3, action: 'short:10' } as const;
    expect(outcomes(await appendAll(driverOf(toy, short), 2))).toEqual(['ok', 'ok']);
    const full = { path: '.toy', calls: ['write'], at: 1, count: 2, action: 'full:10' } as const;
    // The first fault shortens, the second fails; the toy sees a count of 10 and writes on.
    expect(outcomes(await appendAll(driverOf(toy, full), 2))).toEqual(['ok', 'ok']);
    const never = { ...full, count: -1 } as const;
    expect(outcomes(await appendAll(driverOf(toy, never), 2))).toEqual(['unknown', 'unknown']);
    expect(readFaultLog(log).length).toBeGreaterThan(3 + 2 + 2);
    await judgeAfterwards(toy);
  });

  test('a torn write leaves that many bytes of a process that is gone', async () => {
    const torn = { path: '.toy', calls: ALL_WRITES, at: 2, action: 'torn:7' } as const;
    await appendAll(driverOf(toy, { ...torn, at: 1, action: 'kill' }), 1);
    const before = statSync(join(home, 's.toy')).size;
    expect(outcomes(await appendAll(driverOf(toy, { ...torn, at: 1 }), 3))).toEqual(['unknown']);
    expect(statSync(join(home, 's.toy')).size - before).toBe(7);
    await judgeAfterwards(toy);
  });

  test('a path that ends in $ is the end of the path, and other files are left alone', async () => {
    const plan = { path: 'toy.db$', calls: ALL_WRITES, at: 1, action: 'eio' } as const;
    const wal = { ...plan, path: 'toy.db-wal$', at: 3 } as const;
    await appendAll(driverOf(toySqlite), 1);
    await appendAll(driverOf(toySqlite, wal), 3);
    expect(readFaultLog(log).map(({ path }) => path)).toEqual([join(home, 'toy.db-wal')]);
    await judgeAfterwards(toySqlite);
  });

  test.each([
    ['enospc', 'pwrite', 'full'],
    ['eio', 'fsync', 'I/O'],
  ] as const)(
    '%s at a %s inside a commit of node:sqlite is an error of SQLite',
    async (action, call, word) => {
      await appendAll(driverOf(toySqlite), 1);
      const plan = { path: 'toy.db-wal', calls: [call], at: 1, count: 2, action } as const;
      const answers = await appendAll(driverOf(toySqlite, plan), 5);
      expect(outcomes(answers)).toContain('unknown');
      expect(answers.find(({ ok }) => !ok)?.details?.['error']).toContain(word);
      expect(outcomes(answers).at(-1)).toBe('ok');
      expect(readFaultLog(log).map((fault) => fault.call)).toEqual([call, call]);
      await judgeAfterwards(toySqlite);
    },
  );

  test('node:sqlite killed at every k-th call of a run, until none is left, keeps what it acknowledged', async () => {
    let k = 1;
    for (; ; k += 1) {
      history = createHistory();
      const calls = [...ALL_WRITES, 'fsync', 'fdatasync', 'ftruncate', 'unlink'] as const;
      const options = driverOf(toySqlite, { path: 'toy.db', calls, at: k, action: 'kill' });
      try {
        await appendAll(options, 4);
      } catch {
        // Killed before its database was open: nothing was tried.
      }
      await judgeAfterwards(toySqlite);
      if (readFaultLog(log).length === 0) break;
      rmSync(home, { recursive: true });
      home = mkdtempSync(join(tmpdir(), 'reprise-fault-'));
      log = join(home, 'fault.log');
    }
    console.log(`node:sqlite: killed at each of ${k - 1} calls`);
    expect(k).toBeGreaterThan(10);
  }, 300_000);

  test('a plan that cannot mean anything stops the process instead of passing the test', async () => {
    const env = {
      ...faultEnv({ path: 'x', calls: ['write'], at: 1, action: 'eio' }),
      REPRISE_FAULT_DO: 'boom',
    };
    await expect(startDriver({ ...driverOf(toy), env })).rejects.toMatchObject({
      details: { stderr: expect.stringContaining('REPRISE_FAULT_DO=boom') },
    });
  });
});
