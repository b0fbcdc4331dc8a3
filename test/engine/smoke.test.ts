import { expect, test } from 'vitest';
import { Reprise } from '../../src/engine/reprise.ts';
import { createOfflineModel } from '../../src/models/offline/offline-model.ts';
import { createScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';

test('a message is answered and stored', async () => {
  const store = await openMemoryStore({});
  await using reprise = new Reprise({ store, model: createOfflineModel() });
  const session = await reprise.session('agent:main:main');
  const types: string[] = [];
  for await (const event of session.send('hello')) types.push(event.type);
  console.log(types.join(' '));
  expect(types.at(0)).toBe('accepted');
  expect(types.at(-1)).toBe('done');
  const { entries } = await session.history();
  console.log(entries.map(({ entry }) => JSON.stringify(entry).slice(0, 200)).join('\n'));
  console.log(JSON.stringify(await session.context()));
  const e = await session.explain();
  expect(e.calls[0]?.verified).toBe(true);
  expect(await session.undo()).toEqual({ undone: 'turn' });
  expect((await session.context()).messages).toBe(0);
  expect(await session.redo()).toEqual({ undone: 'turn' });
  expect((await session.context()).messages).toBe(2);
});

test('2,000 turns in a small window', async () => {
  const store = await openMemoryStore({});
  const model = createOfflineModel({ contextWindow: 16_000 });
  await using reprise = new Reprise({ store, model });
  const session = await reprise.session('agent:main:main');
  const counts: Record<string, number> = {};
  const t = performance.now();
  for (let i = 0; i < 200; i++) {
    for await (const event of session.send(`turn ${i}: ${'some words about the matter at hand '.repeat(20)}`)) {
      counts[event.type] = (counts[event.type] ?? 0) + 1;
      if (event.type === 'error') console.log(i, event);
      if (event.type === 'compaction') console.log(i, JSON.stringify(event));
    }
  }
  console.log(JSON.stringify(counts), (performance.now() - t) / 200, 'ms/turn');
}, 120_000);
