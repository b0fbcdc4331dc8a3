import { expect, test } from 'vitest';
import { Lanes } from '../../../src/engine/schedule/lanes.ts';

const running = (lanes: Lanes): number => lanes.stats().turns.running;

test('calls that wait side by side release one slot and take one again', async () => {
  const lanes = new Lanes({ turns: 2 });
  const slot = await lanes.enter('turns');
  using _other = await lanes.enter('turns');
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const both = [slot.aside(() => first.promise), slot.aside(() => second.promise)];
  expect(running(lanes)).toBe(1);
  first.resolve();
  await both[0];
  expect(running(lanes)).toBe(1);
  second.resolve();
  await both[1];
  expect(running(lanes)).toBe(2);
  slot[Symbol.dispose]();
  expect(running(lanes)).toBe(1);
});

test('a wait that begins while another has just ended leaks no slot', async () => {
  const lanes = new Lanes({ turns: 1 });
  const slot = await lanes.enter('turns');
  const first = Promise.withResolvers<void>();
  const waited = slot.aside(() => first.promise);
  const other = await lanes.enter('turns');
  first.resolve();
  // Stands in line for its place.
  await expect.poll(() => lanes.stats().turns.waiting).toBe(1);
  const second = Promise.withResolvers<void>();
  const again = slot.aside(() => second.promise);
  other[Symbol.dispose]();
  await waited;
  expect(running(lanes)).toBe(0);
  second.resolve();
  await again;
  expect(running(lanes)).toBe(1);
  slot[Symbol.dispose]();
  expect(running(lanes)).toBe(0);
});

test('a wait that outlives its turn takes no slot after its end', async () => {
  const lanes = new Lanes({ turns: 1 });
  const slot = await lanes.enter('turns');
  const work = Promise.withResolvers<void>();
  const left = slot.aside(() => work.promise);
  slot[Symbol.dispose]();
  work.resolve();
  await left;
  expect(lanes.stats().turns).toEqual({ running: 0, waiting: 0 });
});
