import { setTimeout as wait } from 'node:timers/promises';
import { type DriverOptions, startDriver } from './driver-process.ts';
import {
  type Fleet,
  judgeFresh,
  must,
  mustReach,
  mustVerify,
  startFleet,
  stopFleet,
  stuck,
} from './fleet.ts';
import { createHistory, type History } from './history.ts';
import { type HistoryReport, judgeHistory } from './judge.ts';
import { retryUnknown, startLoad } from './load.ts';
import { createRandom, type Random } from './random.ts';

export interface CrashRoundsOptions extends DriverOptions {
  /** Processes on the same home. */
  readonly drivers: number;
  /** Sessions that the processes write to at the same time. */
  readonly sessions: number;
  readonly rounds: number;
  readonly seed: number;
  /** Appends in flight per process. */
  readonly window?: number;
  readonly maxBytes?: number;
  readonly log?: (line: string) => void;
}

export interface CrashReport {
  /** Rounds that hit an append in flight; the others were repeated. */
  readonly rounds: number;
  readonly repeated: number;
  readonly kills: number;
  readonly pauses: number;
  /** Appends without an answer when their process was killed. */
  readonly inFlight: number;
  /** Those of them that never got an answer and had to be settled by a retry. */
  readonly unknown: number;
  /** Unknown appends that were stored before the retry: written, and killed before the answer. */
  readonly landed: number;
  /** The last judgment: of the whole history, or of the round that failed. */
  readonly history: HistoryReport;
  readonly line: string;
}

/** Sessions live through several crashes, but not so long that reading them takes more time than the load. */
const ROUNDS_PER_SESSION = 4;
const PAUSE_MS = 400;
const REPLAYED = 3;

/**
 * Kills processes with appends in flight, one or all at once, sometimes after a pause; starts them again; retries
 * unknown appends; and judges what a new process reads. Ends at the first round with a finding.
 */
export async function crashRounds(options: CrashRoundsOptions): Promise<CrashReport> {
  const { drivers, sessions, rounds, seed, log = () => {} } = options;
  const random = createRandom(seed);
  const history = createHistory();
  const totals = { rounds: 0, repeated: 0, kills: 0, pauses: 0, inFlight: 0, unknown: 0, landed: 0 };
  const everySession: string[] = [];
  let names: [string, ...string[]] = [''];
  let judged = judgeHistory(history, new Map());
  const fleet = await startFleet(options, drivers);
  try {
    while (totals.rounds < rounds && judged.findings.length === 0) {
      const round = totals.rounds + totals.repeated;
      if (round > 3 * rounds + 3) throw stuck('kills find nothing in flight');
      if (round % ROUNDS_PER_SESSION === 0) {
        names = [`r${round}-1`, ...Array.from({ length: sessions - 1 }, (_, at) => `r${round}-${at + 2}`)];
        for (const id of names) await must(fleet[0], { op: 'create', id, key: `agent:main:${id}` });
        everySession.push(...names);
      }
      const hit = await strike({ ...options, fleet, names, random, history, round });
      totals[hit.unknown > 0 ? 'rounds' : 'repeated'] += 1;
      totals.kills += hit.victims.length;
      totals.pauses += hit.paused ? 1 : 0;
      totals.inFlight += hit.inFlight;
      totals.unknown += hit.unknown;
      for (const at of hit.victims) fleet[at] = await startDriver(options);
      const reader = fleet[hit.victims[0] ?? 0] ?? fleet[0];
      judged = await judgeFresh(history, reader, names);
      const { landed } = judged;
      totals.landed += landed;
      if (judged.findings.length === 0) {
        await retryUnknown(history, random.pick(fleet), { acknowledged: REPLAYED });
        judged = await judgeFresh(history, reader, names);
      }
      log(
        `round ${round}: killed ${hit.victims.length} of ${drivers}${hit.paused ? ' after a pause' : ''}, ` +
          `${hit.inFlight} in flight, ${hit.unknown} unknown, ${landed} of them landed; ${judged.line}`,
      );
    }
    await stopFleet(fleet);
    if (judged.findings.length === 0) {
      await using reader = await startDriver(options);
      await mustVerify(reader);
      judged = await judgeFresh(history, reader, everySession);
    }
  } finally {
    for (const driver of fleet) await driver[Symbol.asyncDispose]();
  }
  const counts = Object.entries(totals).map(([name, count]) => `${name} ${count}`);
  return { ...totals, history: judged, line: `seed ${seed}: ${counts.join(', ')}; ${judged.line}` };
}

interface Strike extends CrashRoundsOptions {
  readonly fleet: Fleet;
  readonly names: readonly [string, ...string[]];
  readonly random: Random;
  readonly history: History;
  readonly round: number;
}

interface Hit {
  /** Indexes in the fleet. */
  readonly victims: readonly number[];
  readonly paused: boolean;
  readonly inFlight: number;
  readonly unknown: number;
}

/** Runs a load, kills some processes at a random moment, lets the others continue for a while, and ends the load. */
async function strike(options: Strike): Promise<Hit> {
  const { fleet, names, random, history, round, seed, window, maxBytes } = options;
  const load = startLoad({
    drivers: fleet,
    sessions: names,
    history,
    seed: seed * 1000 + round,
    ...(window === undefined ? {} : { window }),
    ...(maxBytes === undefined ? {} : { maxBytes }),
  });
  await mustReach(load, random.integer(1, 20 * fleet.length));

  const one = random.integer(0, fleet.length - 1);
  const paused = fleet.length > 1 && random.chance(1 / 3);
  if (paused) {
    fleet[one]?.kill('SIGSTOP');
    // The paused process may block the others; both states are worth a kill.
    await load.reach(load.acknowledged + random.integer(1, 10), random.integer(1, PAUSE_MS));
    if (random.chance(1 / 2)) fleet[one]?.kill('SIGCONT');
  }
  await wait(random.integer(0, 5));
  const victims = random.chance(1 / 2) ? fleet.map((_, at) => at) : [one];
  const killed = fleet.filter((_, at) => victims.includes(at));
  const inFlight = killed.reduce((sum, driver) => sum + driver.inFlight, 0);
  const before = history.unknown().length - fleet.reduce((sum, driver) => sum + driver.inFlight, 0);
  for (const driver of killed) driver.kill('SIGKILL');
  for (const driver of killed) await driver.exited;
  if (killed.length < fleet.length) {
    await mustReach(load, load.acknowledged + random.integer(1, 5 * fleet.length));
  }
  await load.stop();
  return { victims, paused, inFlight, unknown: history.unknown().length - before };
}
