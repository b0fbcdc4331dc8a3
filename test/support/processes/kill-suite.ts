import { expect, test } from 'vitest';
import {
  type DriverOptions,
  type DriverProcess,
  startDriver,
} from '../../../testing/crash/driver-process.ts';
import { appendCommand, createHistory } from '../../../testing/crash/history.ts';
import { assertClean, judgeHistory, readSession, type SeenEntry } from '../../../testing/crash/judge.ts';
import { crashRounds } from '../../../testing/crash/nemesis.ts';
import { replay } from '../engine/replay.ts';
import { say, SESSION as session } from '../store/store-faults.ts';

export interface KillSuiteOptions {
  /** Of drivers on the store of this very test. */
  readonly options: () => DriverOptions;
  /** Kills under load. */
  readonly rounds: number;
  /** Of 2 MB, that each of three processes writes. */
  readonly records: number;
  /** More that can be known of large records in a store of one kind, after all its processes have ended. */
  readonly onIntact?: (seen: readonly SeenEntry[]) => void;
}

/** What several processes on one store promise while some of them are killed or stopped. */
export function testKills({ options, rounds, records, onIntact = () => undefined }: KillSuiteOptions): void {
  const start = (): Promise<DriverProcess> => startDriver(options());

  test(
    'T22: processes killed under load lose nothing they acknowledged and repeat nothing',
    async () => {
      const report = await crashRounds({ ...options(), drivers: 3, sessions: 3, rounds, seed: 22 });
      console.log(`${options().store}: ${report.line}`);
      assertClean(report.history);
      expect(report.rounds).toBe(rounds);
      expect(report.history.unknown).toBe(0);
    },
    60_000 + rounds * 20_000,
  );

  test('T19: three processes write records of 2 MB to one session, all intact', async () => {
    await using a = await start();
    await using b = await start();
    await using c = await start();
    await a.send(session);
    const history = createHistory();
    const write = async (driver: DriverProcess): Promise<void> => {
      for (let at = 0; at < records; at++) {
        const attempt = history.begin({ session: 's', sizes: [2_000_000] });
        history.settle(attempt.key, await driver.send(appendCommand(attempt)));
      }
    };
    await Promise.all([a, b, c].map(write));
    await using reader = await start();
    const seen = await readSession(reader, 's', { limit: 10 });
    const report = judgeHistory(history, new Map([['s', seen]]));
    assertClean(report);
    expect(report.acknowledged).toBe(3 * records);
    expect(seen.at(-1)?.seq).toBe(3 * records + 1);
    expect(await reader.send({ op: 'verify', id: 's' })).toMatchObject({ status: 'clean' });
    for (const driver of [a, b, c, reader]) expect(await driver.stop()).toMatchObject({ code: 0 });
    onIntact(seen);
  }, 300_000);

  test('T29, T30: processes that take turns by lease, one killed while it holds it, lose no update', async () => {
    await using dead = await start();
    await using b = await start();
    await using c = await start();
    await dead.send(session);
    // For longer than this test: it is free because its holder is dead.
    const { epoch } = await dead.send({ op: 'lease', id: 's', ttlMs: 600_000 });
    expect(await dead.send({ op: 'append', id: 's', epoch, ...say('1') })).toMatchObject({ ok: true });
    dead.kill();
    await dead.exited;
    await Promise.all([b, c].map((driver) => countUp(driver, 8)));
    await using reader = await start();
    const texts = (await readSession(reader, 's')).flatMap(({ entry }) => textOf(entry));
    expect(texts).toEqual(Array.from({ length: 17 }, (_, at) => String(at + 1)));
  });

  test('T32: a holder that was stopped past its time is fenced, and harms neither entries nor lease', async () => {
    await using a = await start();
    await using b = await start();
    await a.send(session);
    await a.send({ op: 'lease', id: 's', ttlMs: 60_000 });
    expect(await b.send({ op: 'lease', id: 's', waitMs: 0 })).toMatchObject({
      code: 'LEASE_HELD',
      outcome: 'none',
      details: { holder: expect.anything() },
    });
    await a.send({ op: 'release', id: 's' });
    const said: string[] = [];
    let first: Parameters<DriverProcess['send']>[0] = { op: 'append' };
    let epoch: unknown;
    await replay('a holder that is stopped while it writes nothing', async () => {
      // So short that its time is soon over; on a machine that stands still it may be before the stop.
      const old = await a.send({ op: 'lease', id: 's', ttlMs: 1000 });
      first = { op: 'append', id: 's', epoch: old['epoch'], ...say('from a') };
      expect(await a.send(first)).toMatchObject({ ok: true });
      said.push('from a');
      a.kill('SIGSTOP');
      const taken = await b.send({ op: 'lease', id: 's', ttlMs: 60_000, waitMs: 20_000 });
      // Stopped inside of a transaction it keeps all others out, which another test covers (T26).
      if (taken['code'] === 'STORE_BUSY') {
        a.kill('SIGCONT');
        await a.send({ op: 'release', id: 's' });
        return false;
      }
      expect(taken).toMatchObject({ ok: true });
      expect(taken['epoch']).toBeGreaterThan(Number(old['epoch']));
      epoch = taken['epoch'];
      return true;
    });
    const next = { op: 'append', id: 's', epoch, ...say('from b') };
    expect(await b.send(next)).toMatchObject({ ok: true });
    a.kill('SIGCONT');
    const late = await a.send({ ...first, ...say('too late') });
    expect(late).toMatchObject({ ok: false, code: 'FENCED', outcome: 'none' });
    await a.send({ op: 'release', id: 's' });
    expect(await a.send({ op: 'append', id: 's', ...say('between') })).toMatchObject({
      code: 'LEASE_HELD',
    });
    expect(await b.send({ ...next, ...say('from b again') })).toMatchObject({ ok: true });
    const texts = (await readSession(b, 's')).flatMap(({ entry }) => textOf(entry));
    expect(texts).toEqual([...said, 'from b', 'from b again']);
    for (const driver of [a, b]) expect(await driver.stop()).toMatchObject({ code: 0 });
  });
}

function textOf(entry: SeenEntry['entry']): string[] {
  const { message } = entry as { message?: { content?: unknown } };
  return typeof message?.content === 'string' ? [message.content] : [];
}

/** Reads the last number, adds one and writes it, under the lease: two holders at once would repeat a number. */
async function countUp(driver: DriverProcess, times: number): Promise<void> {
  for (let done = 0; done < times; done++) {
    const { epoch, ...lease } = await driver.send({ op: 'lease', id: 's', waitMs: 40_000 });
    expect(lease).toMatchObject({ ok: true });
    const { entries } = await driver.send({ op: 'read', id: 's', direction: 'backward', limit: 1 });
    const [last] = entries as readonly SeenEntry[];
    const number = Number(last && textOf(last.entry)[0]) + 1;
    const answer = await driver.send({ op: 'append', id: 's', epoch, ...say(String(number)) });
    expect(answer).toMatchObject({ ok: true });
    expect(await driver.send({ op: 'release', id: 's' })).toMatchObject({ ok: true, item: null });
  }
}
