import { Session } from 'node:inspector/promises';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { ThreadClient } from '../src/store/sqlite/threads/thread-client.ts';

/** What one piece of work asks of the parts below it. */
export interface Work {
  /** Calls into a storage thread, or statements sent to a server. */
  readonly trips: number;
  readonly commits: number;
  /** Files of `src/` of which something ran on the main thread. */
  readonly files: number;
  /** CPU time of all threads, in milliseconds. */
  readonly cpuMs: number;
}

/** Calls and statements since the process started, by their name. */
const calls: Map<string, number> = new Map();

function count(name: string): void {
  calls.set(name, (calls.get(name) ?? 0) + 1);
}

/** Counts all calls from now on. Both clients are counted in place, so that the code that runs is the code as it is. */
export function countCalls(): void {
  const { call } = ThreadClient.prototype;
  ThreadClient.prototype.call = function <T>(this: ThreadClient, op: string, args: unknown): Promise<T> {
    count(op);
    return call.call(this, op, args) as Promise<T>;
  };
  const { query } = pg.Client.prototype;
  const counted = function (this: pg.Client, ...args: unknown[]): unknown {
    const [asked] = args;
    const text = typeof asked === 'string' ? asked : (asked as { readonly text?: string }).text;
    count((text ?? '').trimStart().split(/[\s;(]/, 1)[0] ?? '');
    return (query as (...given: unknown[]) => unknown).apply(this, args);
  };
  pg.Client.prototype.query = counted as typeof query;
}

const LOOK_PAUSE_MS = 20;

/**
 * Measures `work` several times and answers with the medians. The store sweeps once a second by itself; in most rounds
 * it does not, so a median leaves that out.
 */
export async function countWork(
  work: () => Promise<unknown>,
  { rounds = 25, control }: { readonly rounds?: number; readonly control?: string | undefined } = {},
): Promise<Work> {
  const trips: number[] = [];
  const commits: number[] = [];
  const cpu: number[] = [];
  using db = control === undefined ? undefined : new DatabaseSync(control, { readOnly: true });
  const committed = (): number => {
    if (db === undefined) return calls.get('COMMIT') ?? 0;
    // Each transaction of a writer that carries requests signs itself with its number.
    return (db.prepare('SELECT coalesce(sum(number), 0) AS n FROM commits').get() as { n: number }).n;
  };
  const sum = (): number => [...calls.values()].reduce((all, one) => all + one, 0);
  for (let round = 0; round < rounds; round++) {
    const before = { trips: sum(), commits: committed(), cpu: process.cpuUsage() };
    await work();
    // What follows an answer (a lease that is given back) belongs to it.
    await new Promise((resolve) => setTimeout(resolve, LOOK_PAUSE_MS));
    const { user, system } = process.cpuUsage(before.cpu);
    trips.push(sum() - before.trips);
    commits.push(committed() - before.commits);
    cpu.push((user + system) / 1000);
  }
  const middle = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
  const files = (await filesRun(work)).length;
  return { trips: middle(trips), commits: middle(commits), files, cpuMs: middle(cpu) };
}

/** The files of `src/` of which `work` runs at least one function on this thread. */
async function filesRun(work: () => Promise<unknown>): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    // What ran before is reported by the first look.
    await session.post('Profiler.takePreciseCoverage');
    await work();
    await new Promise((resolve) => setTimeout(resolve, LOOK_PAUSE_MS));
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ url }) => url.startsWith('file:') && url.includes('/src/'))
      .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
      .map(({ url }) => url);
  } finally {
    session.disconnect();
  }
}
