import { RepriseError } from '../../src/errors.ts';
import {
  type Answer,
  type DriverCommand,
  type DriverOptions,
  type DriverProcess,
  startDriver,
} from './driver-process.ts';
import type { History } from './history.ts';
import { type HistoryReport, judgeHistory, readSession, type SeenEntry } from './judge.ts';
import type { Load } from './load.ts';

/** Drivers on the same home. */
export type Fleet = [DriverProcess, ...DriverProcess[]];

/** A limit for hanging processes, not for a busy machine. */
const PROGRESS_MS = 120_000;

export async function startFleet(options: DriverOptions, size: number): Promise<Fleet> {
  const fleet: Fleet = [await startDriver(options)];
  try {
    while (fleet.length < size) fleet.push(await startDriver(options));
    return fleet;
  } catch (error) {
    for (const driver of fleet) await driver[Symbol.asyncDispose]();
    throw error;
  }
}

/** Stops all drivers cleanly; a crash test must still be able to do that. */
export async function stopFleet(fleet: Fleet): Promise<void> {
  for (const driver of fleet) {
    const exit = await driver.stop();
    if (exit.code !== 0) throw stuck('a driver did not end well', { ...exit });
  }
}

/** Fails if `verify` reports damage. Torn bytes in quarantine are not damage. */
export async function mustVerify(driver: DriverProcess): Promise<void> {
  const answer = await must(driver, { op: 'verify' });
  const { status } = answer;
  if (status !== 'clean' && status !== 'quarantined') throw stuck(`verify says ${status}`, { answer });
}

export async function judgeFresh(
  history: History,
  driver: DriverProcess,
  sessions: readonly string[],
): Promise<HistoryReport> {
  const seen = new Map<string, readonly SeenEntry[]>();
  for (const id of sessions) seen.set(id, await readSession(driver, id));
  return judgeHistory(history, seen);
}

export async function mustReach(load: Load, goal: number): Promise<void> {
  if (await load.reach(goal, PROGRESS_MS)) return;
  throw stuck('the load does not move', { acknowledged: load.acknowledged, goal, refusal: load.refusal });
}

export async function must(driver: DriverProcess, command: DriverCommand): Promise<Answer> {
  const answer = await driver.send(command);
  if (!answer.ok) throw stuck(`${command.op} failed`, { answer });
  return answer;
}

export function stuck(what: string, details: Readonly<Record<string, unknown>> = {}): RepriseError {
  return new RepriseError('STORE_FAILED', what, { details });
}
