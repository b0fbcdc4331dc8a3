import { expect } from 'vitest';
import type { DriverOptions } from '../../../testing/crash/driver-process.ts';
import { assertClean } from '../../../testing/crash/judge.ts';
import { createRandom } from '../../../testing/crash/random.ts';
import { judgeServer } from './judge-server.ts';
import { ServeProcess } from './serve-process.ts';
import { ServerLoad } from './server-load.ts';

export interface ServerRounds {
  readonly rounds: number;
  readonly seed: number;
  readonly env?: NodeJS.ProcessEnv;
  /** Who looks at the end, given the home of the server. */
  readonly look: (home: string) => DriverOptions;
}

const SESSIONS = ['s1', 's2', 's3', 's4', 's5', 's6'] as const;
/** No debounce here. */
const QUEUE = JSON.stringify({ mode: 'followup', debounceMs: 0 });

/** T22: `reprise serve` under 16 clients, killed again and again; throws where anything was lost, doubled or invented. */
export async function serverRounds({ rounds, seed, env = {}, look }: ServerRounds): Promise<string> {
  const random = createRandom(seed);
  await using server = await ServeProcess.start({ env: { REPRISE_SESSION_QUEUE: QUEUE, ...env } });
  const load = new ServerLoad({ port: server.port, sessions: SESSIONS, seed });
  for (let round = 0; round < rounds; round++) {
    await load.reach(load.acknowledged + random.integer(1, 80));
    await server.end('SIGKILL');
    await server.start();
  }
  await load.stop();
  expect(await server.end('SIGTERM')).toBe(0);
  const { report, findings } = await judgeServer(look(server.home), load, SESSIONS);
  const unknown = [...load.history.attempts.values()].filter(({ wasUnknown }) => wasUnknown).length;
  expect(load.errors).toEqual([]);
  expect(findings).toEqual([]);
  assertClean(report);
  expect(report).toMatchObject({ unknown: 0, acknowledged: load.acknowledged });
  expect(report.refused).toBeGreaterThan(0);
  expect(unknown).toBeGreaterThan(0);
  return (
    `T22 seed ${seed}: ${rounds} kills, ${unknown} without an answer at first; ` +
    `${JSON.stringify(load.counts)}; ${report.line}`
  );
}

/** T95: the same with one SIGTERM, which ends it in order. */
export async function serverStop({ seed, env = {}, look }: Omit<ServerRounds, 'rounds'>): Promise<string> {
  await using server = await ServeProcess.start({ env: { REPRISE_SESSION_QUEUE: QUEUE, ...env } });
  const load = new ServerLoad({ port: server.port, sessions: SESSIONS, seed });
  await load.reach(40);
  expect(await server.end('SIGTERM')).toBe(0);
  await server.start();
  await load.stop();
  expect(await server.end('SIGTERM')).toBe(0);
  const { report, findings } = await judgeServer(look(server.home), load, SESSIONS);
  expect(load.errors).toEqual([]);
  expect([...findings, ...report.findings]).toEqual([]);
  expect(report).toMatchObject({ unknown: 0, acknowledged: load.acknowledged });
  return `T95: ${JSON.stringify(load.counts)}; ${report.line}`;
}
