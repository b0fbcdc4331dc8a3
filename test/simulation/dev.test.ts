import { expect, test, vi } from 'vitest';

vi.mock('node:worker_threads', () => import('./in-thread-worker.ts'));

import { writeFileSync } from 'node:fs';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { runSimulation } from './run-simulation.ts';

const from = Number(process.env.SIM_FROM ?? 1),
  count = Number(process.env.SIM_COUNT ?? 5);
test('sim', async () => {
  const t = performance.now();
  let ops = 0;
  let bad = 0;
  for (let seed = from; seed < from + count; seed++) {
    await using store = await openMemoryStore({ now: '2026-01-01T00:00:00.000Z' });
    const r = await runSimulation({
      seed,
      store,
      messages: Number(process.env.SIM_MESSAGES ?? 200),
      peers: 20,
    });
    ops += r.operations;
    if (r.findings.length > 0) {
      bad++;
      if (bad <= 5) {
        console.log(seed, r.findings.slice(0, 8));
        writeFileSync(`/tmp/w-scratch-sim/trace-${seed}.txt`, r.trace.join('\n'));
      }
    }
    if (seed === from) {
      const c = new Map<string, number>();
      for (const l of r.trace) {
        const k = l.split(' ').slice(2, 3).join(' ');
        c.set(k, (c.get(k) ?? 0) + 1);
      }
      console.log(JSON.stringify([...c].sort((a, b) => b[1] - a[1]).slice(0, 14)));
    }
    if (seed < from + 5)
      console.log(
        seed,
        r.traceHash,
        r.operations,
        r.events,
        r.virtualMs,
        r.kills,
        r.pauses,
        JSON.stringify(r.states),
      );
  }
  const cpu = process.cpuUsage(); console.log('cpu', (cpu.user + cpu.system) / 1e6 / count);
  const s = (performance.now() - t) / 1000;
  console.log(
    `${count} seeds, ${bad} bad, ${s.toFixed(1)} s, ${ops} operations, ${((s * 1e6) / ops).toFixed(0)} us each`,
  );
  expect(bad).toBe(0);
}, 1e6);
