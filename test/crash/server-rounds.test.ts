import { expect, test } from 'vitest';
import { assertClean } from '../../src/testing/crash/judge.ts';
import { createRandom } from '../../src/testing/crash/random.ts';
import { judgeServer } from '../support/judge-server.ts';
import { ServeProcess } from '../support/serve-process.ts';
import { ServerLoad } from '../support/server-load.ts';

const ROUNDS = Number(process.env['REPRISE_CRASH_ROUNDS'] ?? 4);
const SEED = Number(process.env['REPRISE_CRASH_SEED'] ?? 22);
const SESSIONS = ['s1', 's2', 's3', 's4', 's5', 's6'] as const;
/** Nobody waits for a second sentence here. */
const env = { REPRISE_SESSION_QUEUE: JSON.stringify({ mode: 'followup', debounceMs: 0 }) };

test(
  'T22: a server killed again and again under 16 clients keeps each acknowledged message once, and answers it once',
  async () => {
    const random = createRandom(SEED);
    await using server = await ServeProcess.start({ env });
    const load = new ServerLoad({ port: server.port, sessions: SESSIONS, seed: SEED });
    for (let round = 0; round < ROUNDS; round++) {
      await load.reach(load.acknowledged + random.integer(1, 80));
      await server.end('SIGKILL');
      await server.start();
    }
    await load.stop();
    expect(await server.end('SIGTERM')).toBe(0);
    const { report, findings } = await judgeServer({ store: 'jsonl', home: server.home }, load, SESSIONS);
    const tried = [...load.history.attempts.values()];
    const unknown = tried.filter(({ wasUnknown }) => wasUnknown).length;
    console.log(
      `T22 seed ${SEED}: ${ROUNDS} kills, ${unknown} without an answer at first; ` +
        `${JSON.stringify(load.counts)}; ${report.line}`,
    );
    expect(load.errors).toEqual([]);
    expect(findings).toEqual([]);
    assertClean(report);
    expect(report).toMatchObject({ unknown: 0, acknowledged: load.acknowledged });
    expect(report.refused).toBeGreaterThan(0);
    expect(unknown).toBeGreaterThan(0);
  },
  60_000 + ROUNDS * 20_000,
);

test('T95: SIGTERM under 16 clients ends it in order within 10 s; what was acknowledged is kept and answered', async () => {
  await using server = await ServeProcess.start({ env });
  const load = new ServerLoad({ port: server.port, sessions: SESSIONS, seed: SEED });
  await load.reach(40);
  const began = performance.now();
  expect(await server.end('SIGTERM')).toBe(0);
  expect(performance.now() - began).toBeLessThan(10_000);
  await server.start();
  await load.stop();
  expect(await server.end('SIGTERM')).toBe(0);
  const { report, findings } = await judgeServer({ store: 'jsonl', home: server.home }, load, SESSIONS);
  console.log(`T95: ${JSON.stringify(load.counts)}; ${report.line}`);
  expect(load.errors).toEqual([]);
  expect([...findings, ...report.findings]).toEqual([]);
  expect(report).toMatchObject({ unknown: 0, acknowledged: load.acknowledged });
});
