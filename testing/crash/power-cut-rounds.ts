import { setTimeout as wait } from 'node:timers/promises';
import type { DriverOptions } from './driver-process.ts';
import { judgeFresh, must, mustReach, mustVerify, startFleet, stopFleet } from './fleet.ts';
import { createHistory } from './history.ts';
import { type HistoryReport, judgeHistory } from './judge.ts';
import { retryUnknown, startLoad } from './load.ts';
import { type FileSystem, type JournalAtCut, openPowerCutDisk } from './power-cut.ts';
import { createRandom } from './random.ts';

export interface PowerCutRoundsOptions extends Omit<DriverOptions, 'home'> {
  readonly fileSystem?: FileSystem;
  readonly drivers: number;
  readonly sessions: number;
  readonly rounds: number;
  readonly seed: number;
  readonly maxBytes?: number;
  readonly log?: (line: string) => void;
}

export interface PowerCutReport {
  readonly cuts: number;
  readonly inFlight: number;
  readonly unknown: number;
  readonly landed: number;
  readonly history: HistoryReport;
  readonly line: string;
}

/** Cuts the power under load, restarts, retries unknown appends and judges; uses one disk for all rounds. */
export async function powerCutRounds(options: PowerCutRoundsOptions): Promise<PowerCutReport> {
  const { fileSystem = 'ext4', drivers, sessions, rounds, seed, maxBytes = 50_000, log = () => {} } = options;
  const random = createRandom(seed);
  const history = createHistory();
  const totals = { cuts: 0, inFlight: 0, unknown: 0, landed: 0 };
  let judged = judgeHistory(history, new Map());
  await using disk = await openPowerCutDisk({ fileSystem });
  const place = { ...options, home: disk.folder };
  const names: [string, ...string[]] = [
    's1',
    ...Array.from({ length: sessions - 1 }, (_, at) => `s${at + 2}`),
  ];
  let fleet = await startFleet(place, drivers);
  try {
    for (const id of names) await must(fleet[0], { op: 'create', id, key: `agent:main:${id}` });
    while (totals.cuts < rounds && judged.findings.length === 0) {
      const load = startLoad({
        drivers: fleet,
        sessions: names,
        history,
        seed: seed + totals.cuts,
        maxBytes,
      });
      await mustReach(load, random.integer(1, 20 * drivers));
      await wait(random.integer(0, 5));
      const journal = random.pick<JournalAtCut>(['kept', 'lost']);
      const inFlight = fleet.reduce((sum, driver) => sum + driver.inFlight, 0);
      // Stop the processes first: after a real power cut, no process sees the results of calls that the cut
      // interrupts.
      for (const driver of fleet) driver.kill('SIGSTOP');
      disk.cut(journal);
      for (const driver of fleet) driver.kill('SIGKILL');
      for (const driver of fleet) await driver.exited;
      await load.stop();
      await disk.restart();
      fleet = await startFleet(place, drivers);
      judged = await judgeFresh(history, fleet[0], names);
      const { unknown, landed } = judged;
      if (judged.findings.length === 0) {
        await retryUnknown(history, random.pick(fleet), { acknowledged: 3 });
        judged = await judgeFresh(history, fleet[0], names);
      }
      totals.cuts += 1;
      totals.inFlight += inFlight;
      totals.unknown += unknown;
      totals.landed += landed;
      log(
        `cut ${totals.cuts}, journal ${journal}: ${inFlight} in flight, ${unknown} unknown, ${landed} of them landed; ${judged.line}`,
      );
    }
    if (judged.findings.length === 0) await mustVerify(fleet[0]);
    await stopFleet(fleet);
  } finally {
    for (const driver of fleet) await driver[Symbol.asyncDispose]();
  }
  const counts = Object.entries(totals).map(([name, count]) => `${name} ${count}`);
  return {
    ...totals,
    history: judged,
    line: `${fileSystem}, seed ${seed}: ${counts.join(', ')}; ${judged.line}`,
  };
}
