import { afterEach, expect, test, vi } from 'vitest';
import type { SimulationReport } from './run-simulation.ts';

afterEach(() => {
  vi.doUnmock('../support/kept-worker.ts');
  vi.resetModules();
});

/** With storage in this thread, or in a thread of its own as everywhere else. */
async function simulate(
  seed: number,
  { inThread }: { readonly inThread: boolean },
): Promise<SimulationReport> {
  vi.resetModules();
  if (inThread) vi.doMock('../support/kept-worker.ts', () => import('./in-thread-worker.ts'));
  else vi.doUnmock('../support/kept-worker.ts');
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

test('a store with threads of its own goes the same way', async () => {
  const threaded = await simulate(9, { inThread: false });
  const inThread = await simulate(9, { inThread: true });
  expect(threaded.findings).toEqual([]);
  expect(threaded.trace).toEqual(inThread.trace);
});
