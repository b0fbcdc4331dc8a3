import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startDriver } from '../../testing/crash/driver-process.ts';
import { assertClean } from '../../testing/crash/judge.ts';
import { type CrashReport, crashRounds } from '../../testing/crash/nemesis.ts';

const script = fileURLToPath(new URL('../support/processes/toy-driver.ts', import.meta.url));
const ROUNDS = Number(process.env['REPRISE_CRASH_ROUNDS'] ?? 2);

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-toy-'));
});
afterEach(() => rmSync(home, { recursive: true }));

async function rounds(store: string, drivers: number, count: number): Promise<CrashReport> {
  const report = await crashRounds({ store, home, script, drivers, sessions: 2, rounds: count, seed: 11 });
  console.log(`${store}: ${report.line}`);
  return report;
}

describe('kill rounds', () => {
  test('a store that syncs before it answers loses nothing, with three processes on one home', async () => {
    const report = await rounds('correct', 3, ROUNDS);
    assertClean(report.history);
    expect(report.rounds).toBe(ROUNDS);
    expect(report.kills).toBeGreaterThanOrEqual(ROUNDS);
    expect(report.unknown).toBeGreaterThanOrEqual(ROUNDS);
    expect(report.history.unknown).toBe(0);
  }, 600_000);

  test.each([
    ['acks-early', 'acknowledges before it writes', 'lost'],
    ['appends-again', 'appends again when a key is retried', 'duplicated'],
    ['reorders', 'stores in another order than it acknowledges', 'misplaced'],
    ['refuses-late', 'refuses what it has written', 'invented'],
    ['tears', 'keeps only part of an append', 'lost'],
  ] as const)('%s: a store that %s is caught as %s', async (store, _, fault) => {
    const { history } = await rounds(store, 1, 8);
    expect(history[fault]).toBeGreaterThan(0);
    expect(() => assertClean(history)).toThrow(fault);
  });
});

describe('a driver process', () => {
  test('answers commands that were sent without waiting, each with its own answer', async () => {
    await using driver = await startDriver({ store: 'correct', home, script });
    const keys = Array.from({ length: 20 }, (_, at) => `k${at}`);
    const answers = await Promise.all(
      keys.map((key) => driver.send({ op: 'append', id: 's', key, messages: [{ content: key }] })),
    );
    expect(answers.map(({ firstSeq }) => firstSeq)).toEqual(keys.map((_, at) => at + 2));
    expect(await driver.stop()).toMatchObject({ code: 0, signal: null });
  });

  test('answers unknown for what was in flight when it was killed, and for everything after', async () => {
    await using driver = await startDriver({ store: 'correct', home, script });
    driver.kill('SIGSTOP');
    const inFlight = driver.send({ op: 'append', id: 's', key: 'k', messages: [{ content: 'x' }] });
    expect(driver.inFlight).toBe(1);
    driver.kill();
    expect(await inFlight).toMatchObject({ ok: false, outcome: 'unknown', details: { died: true } });
    expect(await driver.exited).toMatchObject({ signal: 'SIGKILL' });
    expect(await driver.send({ op: 'verify' })).toMatchObject({ ok: false, outcome: 'unknown' });
  });

  test('that cannot start says why', async () => {
    const missing = startDriver({ store: 'correct', home, script: `${script}.missing` });
    await expect(missing).rejects.toMatchObject({
      code: 'STORE_FAILED',
      details: { stderr: expect.stringContaining('Cannot find module') },
    });
  });
});
