/**
 * The long form of test/simulation: many people, many messages, runners that die, on a store with real threads.
 * `npm run soak -- --messages 10000 --seed 1 --minutes 5` continues with the next seeds until the time is over.
 * `npm run soak -- --server 60` is the long form of T91 instead: 16 clients at a real server for 60 seconds.
 */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openMemoryStore } from '../src/store/memory/open.ts';
import { runSimulation } from '../test/simulation/run-simulation.ts';
import { soakServer } from '../test/support/server/server-soak.ts';

const option = { type: 'string' } as const;
const { values } = parseArgs({
  options: {
    messages: option,
    peers: option,
    seed: option,
    minutes: option,
    server: option,
    clients: option,
  },
});
const messages = Number(values.messages ?? 10_000);
const peers = Number(values.peers ?? 200);
const first = Number(values.seed ?? 1);
const endsAt = performance.now() + Number(values.minutes ?? 0) * 60_000;

async function simulate(): Promise<number> {
  let failed = 0;
  for (let seed = first; seed === first || performance.now() < endsAt; seed++) {
    const started = performance.now();
    await using store = await openMemoryStore({ now: '2026-01-01T00:00:00.000Z' });
    const { findings, states, trace, ...figures } = await runSimulation({ seed, store, messages, peers });
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    const { operations, kills, pauses, virtualMs, traceHash } = figures;
    console.log(
      `seed ${seed}: ${messages} messages of ${peers} peers in ${seconds} s (${Math.round(virtualMs / 1000)} s for them), ` +
        `${operations} operations, ${kills} kills, ${pauses} pauses, ${JSON.stringify(states)}, trace ${traceHash}`,
    );
    if (findings.length === 0) continue;
    failed++;
    const path = join(tmpdir(), `reprise-simulation-${seed}.txt`);
    writeFileSync(path, trace.join('\n'));
    console.error(`seed ${seed} is not clean; its trace: ${path}\n${findings.slice(0, 20).join('\n')}`);
  }
  return failed;
}

async function soak(seconds: number): Promise<number> {
  const clients = Number(values.clients ?? 16);
  const { findings, line } = await soakServer({ seed: first, seconds, clients });
  console.log(line);
  if (findings.length > 0) console.error(findings.slice(0, 20).join('\n'));
  return findings.length;
}

const failed = values.server === undefined ? await simulate() : await soak(Number(values.server));
process.exitCode = failed === 0 ? 0 : 1;
