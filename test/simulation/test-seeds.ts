import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { runSimulation, type SimulationReport } from './run-simulation.ts';

const SEEDS = Number(process.env['REPRISE_SIM_SEEDS'] ?? 500);
/** Only this one, to see it again. */
const SEED = process.env['REPRISE_SIM_SEED'];
const MESSAGES = 200;
/** From a crowd in a few rooms to as many rooms as messages. */
const PEERS = [8, 20, 60, 200] as const;

async function simulateSeed(seed: number): Promise<SimulationReport> {
  await using store = await openMemoryStore({ now: '2026-01-01T00:00:00.000Z' });
  return await runSimulation({ seed, store, messages: MESSAGES, peers: PEERS[seed % PEERS.length] ?? 20 });
}

/** One of several equal parts of all seeds: a file each, so that they run side by side. */
export function testSeeds(part: number, parts: number): void {
  const all = SEED === undefined ? Array.from({ length: SEEDS }, (_, i) => i + 1) : [Number(SEED)];
  const seeds = all.filter((seed) => SEED !== undefined || seed % parts === part);
  test(
    'whatever befalls the runners, every message ends once, in its own session, in order, answered at most once (S9)',
    async () => {
      // Refusals are part of the day's work here, and stack traces would be a good part of what they cost.
      Error.stackTraceLimit = 0;
      const failed: string[] = [];
      const totals = { operations: 0, kills: 0, pauses: 0, fenced: 0 };
      const states: Record<string, number> = {};
      const started = performance.now();
      for (const seed of seeds) {
        const report = await simulateSeed(seed);
        for (const name of ['operations', 'kills', 'pauses', 'fenced'] as const) totals[name] += report[name];
        for (const [state, count] of Object.entries(report.states))
          states[state] = (states[state] ?? 0) + count;
        if (report.findings.length > 0) failed.push(describe(report));
      }
      const seconds = Math.round((performance.now() - started) / 1000);
      console.log(`${seeds.length} seeds in ${seconds} s: ${JSON.stringify({ ...totals, ...states })}`);
      expect(failed, 'REPRISE_SIM_SEED=<seed> shows one of them again').toEqual([]);
      // Accidents that do not happen show nothing.
      if (seeds.length >= 20) expect(Math.min(...Object.values(totals))).toBeGreaterThan(0);
    },
    60_000 + seeds.length * 30_000,
  );
}

function describe({ seed, findings, trace }: SimulationReport): string {
  const path = join(tmpdir(), `reprise-simulation-${seed}.txt`);
  writeFileSync(path, trace.join('\n'));
  return `seed ${seed} (trace: ${path}):\n${findings.slice(0, 10).join('\n')}`;
}
