// @module-tag long
import { expect, test } from 'vitest';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { startThreadsBy } from '../../src/store/sqlite/threads/start-thread.ts';
import { BROKEN } from './broken.ts';
import { Worker as InThreadWorker } from './in-thread-worker.ts';
import { runSimulation } from './run-simulation.ts';

startThreadsBy((file, workerData) => new InThreadWorker(file, { workerData }));

/** What the judge has to say, at least. A seed that shows it: some need an accident at the right moment. */
const CASES: Readonly<Record<string, { readonly says: RegExp; readonly seeds: readonly number[] }>> = {
  'a message that was answered runs again': { says: /ended 2 times/, seeds: [1] },
  'a message is acknowledged and not kept': { says: /was accepted and is gone/, seeds: [1] },
  'the end of a message is forgotten': { says: /have no end|does not come to rest/, seeds: [1] },
  'people of one agent share a session': { says: /share key/, seeds: [1, 2, 3] },
  'the history of another is read': { says: /was told m\d+@k\d+ of/, seeds: [1] },
  'what was said last comes first': { says: /which was accepted first/, seeds: [1] },
  'nobody looks at epochs': {
    says: /twice|times|was open|is done/,
    seeds: [1, 22, 23, 31, 35, 48, 2, 3, 4, 5],
  },
};

async function findingsOf(seed: number, name?: string): Promise<string[]> {
  await using store = await openMemoryStore();
  const disguise = name === undefined ? {} : { disguise: BROKEN[name] as (typeof BROKEN)[string] };
  const { findings } = await runSimulation({ seed, store, messages: 80, peers: 6, ...disguise });
  return [...findings];
}

test('reports nothing for a store that keeps its promises', async () => {
  expect(await findingsOf(1)).toEqual([]);
});

test.for(Object.entries(CASES))('it is found out when %s', async ([name, { says, seeds }]) => {
  const findings: string[] = [];
  for (const seed of seeds) {
    findings.push(...(await findingsOf(seed, name)));
    if (findings.some((finding) => says.test(finding))) break;
  }
  expect(findings).toEqual(expect.arrayContaining([expect.stringMatching(says)]));
});

test('every way of breaking is tried', () => {
  expect(Object.keys(CASES)).toEqual(Object.keys(BROKEN));
});
