import { expect, test } from 'vitest';
import { newestContext } from '../../../src/engine/turn/newest-context.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import type { NewEntry, Store } from '../../../src/store/port/store.ts';
import { KEY, openEngine, scripted } from '../../support/engine/engine.ts';

const WINDOW = 20_000;
const message = (i: number): NewEntry =>
  i % 2 === 0
    ? { type: 'message', message: { role: 'user', content: `question ${i}, with some words to weigh` } }
    : { type: 'message', message: { role: 'assistant', content: [{ type: 'text', text: `answer ${i}` }] } };

/** A store that counts the lines its tails answer with. */
function counting(store: Store): { readonly counted: Store; readonly lines: () => number } {
  let lines = 0;
  const counted = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== 'tail') return typeof value === 'function' ? value.bind(target) : value;
      return async (...args: Parameters<Store['tail']>) => {
        const page = await target.tail(...args);
        lines += page.entries.length;
        return page;
      };
    },
  });
  return {
    counted,
    lines: () => {
      const read = lines;
      lines = 0;
      return read;
    },
  };
}

test('reading the context and the pins of a long history reads what fills the window, not the history', async () => {
  const { counted, lines } = counting(await openMemoryStore({}));
  await using at = await openEngine(scripted([], WINDOW), { store: counted });
  const { session } = at;
  const read: number[] = [];
  await counted.append(session.id, [message(0)]);
  await session.pin((await session.record()).leaf ?? '');
  for (const length of [4000, 16_000]) {
    for (let i = (await session.record()).messageCount; i < length; i += 500)
      await counted.append(
        session.id,
        Array.from({ length: 500 }, (_, n) => message(i + n)),
      );
    lines();
    const report = await session.context();
    read.push(lines());
    expect(report.isPart).toBe(true);
    expect(report.tokens).toBeGreaterThan(WINDOW);
    expect(await session.pins()).toEqual([
      { entryId: expect.any(String), text: expect.stringContaining('question 0') },
    ]);
    expect(lines()).toBe(1);
  }
  expect(read[1]).toBe(read[0]);
  expect(read[0]).toBeLessThan(3500);
});

test('of a history that fits, and of one that stands at an old branch, every message counts', async () => {
  const store = await openMemoryStore({});
  await using at = await openEngine(scripted([], 1_000_000), { store });
  const { session } = at;
  for (let i = 0; i < 2400; i += 400)
    await store.append(
      session.id,
      Array.from({ length: 400 }, (_, n) => message(i + n)),
    );
  expect(await session.context()).toMatchObject({ messages: 2400 });
  expect(await session.context()).not.toHaveProperty('isPart');
  // The header, the line about its key, then four messages.
  const { entries } = await store.read(session.id, { from: 6, limit: 1 });
  await session.branch(String(entries[0]?.entry.id));
  expect(await session.context()).toMatchObject({ messages: 4 });
});

test('another branch is never taken for the start of this one', async () => {
  await using store = await openMemoryStore({});
  const { id } = await store.create({ key: KEY });
  await store.append(
    id,
    Array.from({ length: 1500 }, (_, n) => message(n)),
  );
  const { entries } = await store.read(id, { from: 3, limit: 1 });
  await store.append(id, [
    { type: 'custom', customType: 'reprise.leaf', parentId: String(entries[0]?.entry.id) },
    message(2),
  ]);
  await using at = await openEngine(scripted([], 1_000_000), { store: await openMemoryStore({}) });
  const frame = { model: at.model, system: '', tools: [], maxOutputTokens: 100, calibration: undefined };
  const { view, isPart } = await newestContext(
    store,
    await store.get(id),
    { ...frame, profile: {} as never },
    500,
  );
  expect([view.selection.entries.length, isPart]).toEqual([3, false]);
});
