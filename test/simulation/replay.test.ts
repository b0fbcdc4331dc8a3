import { afterEach, expect, test, vi } from 'vitest';
import { Worker as InThreadWorker } from './in-thread-worker.ts';
import type { SimulationReport } from './run-simulation.ts';

afterEach(() => void vi.resetModules());

/** With storage in this thread, or in a new thread as in every program. */
async function simulate(
  seed: number,
  { inThread }: { readonly inThread: boolean },
): Promise<SimulationReport> {
  vi.resetModules();
  if (inThread) {
    const { startThreadsBy } = await import('../../src/store/sqlite/threads/start-thread.ts');
    startThreadsBy((file, workerData) => new InThreadWorker(file, { workerData }));
  }
  const { openMemoryStore } = await import('../../src/store/memory/open.ts');
  const { runSimulation } = await import('./run-simulation.ts');
  await using store = await openMemoryStore();
  return await runSimulation({ seed, store, messages: 60, peers: 8 });
}

test('the same seed is the same history, event by event', async () => {
  const first = await simulate(7, { inThread: true });
  const second = await simulate(7, { inThread: true });
  expect(second.trace).toEqual(first.trace);
  expect(second.traceHash).toBe(first.traceHash);
  const other = await simulate(8, { inThread: true });
  expect(other.traceHash).not.toBe(first.traceHash);
});

test('a store with real threads goes the same way', async () => {
  const threaded = await simulate(9, { inThread: false });
  const inThread = await simulate(9, { inThread: true });
  expect(threaded.findings).toEqual([]);
  expect(threaded.trace).toEqual(inThread.trace);
});
