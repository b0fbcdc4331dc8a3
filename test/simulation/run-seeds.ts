/** Simulates the seeds from the first to the last, every so many, and says what it saw as one line of JSON. */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { runSimulation, type SimulationReport } from './run-simulation.ts';

const MESSAGES = 200;
/** From a crowd in a few rooms to as many rooms as messages. */
const PEERS = [8, 20, 60, 200] as const;
const COUNTED = ['operations', 'kills', 'pauses', 'fenced'] as const;

export interface SeedsReport {
  readonly seeds: number;
  readonly totals: Readonly<Record<(typeof COUNTED)[number], number>>;
  readonly states: Readonly<Record<string, number>>;
  readonly failed: readonly string[];
}

async function simulateSeed(seed: number): Promise<SimulationReport> {
  await using store = await openMemoryStore({ now: '2026-01-01T00:00:00.000Z' });
  return await runSimulation({ seed, store, messages: MESSAGES, peers: PEERS[seed % PEERS.length] ?? 20 });
}

function describe({ seed, findings, trace }: SimulationReport): string {
  const path = join(tmpdir(), `reprise-simulation-${seed}.txt`);
  writeFileSync(path, trace.join('\n'));
  return `seed ${seed} (trace: ${path}):\n${findings.slice(0, 10).join('\n')}`;
}

// Refusals are part of the day's work here, and stack traces would be a good part of what they cost.
Error.stackTraceLimit = 0;
const [first = 1, last = first, step = 1] = process.argv.slice(2).map(Number);
const totals = { operations: 0, kills: 0, pauses: 0, fenced: 0 };
const states: Record<string, number> = {};
const failed: string[] = [];
let seeds = 0;
for (let seed = first; seed <= last; seed += step) {
  const report = await simulateSeed(seed);
  seeds++;
  for (const name of COUNTED) totals[name] += report[name];
  for (const [state, count] of Object.entries(report.states)) states[state] = (states[state] ?? 0) + count;
  if (report.findings.length > 0) failed.push(describe(report));
}
const said: SeedsReport = { seeds, totals, states, failed };
process.stdout.write(`${JSON.stringify(said)}\n`);
