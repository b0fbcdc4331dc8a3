import { expect, test } from 'vitest';
import { openEngine, scripted } from '../../support/engine/engine.ts';

test('a sender to a session that another engine holds sees the entries it stores and the same end', async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await using first = await openEngine(scripted([{ wait: held, text: 'to the first' }, 'to the second']));
  await using second = await openEngine(scripted([]), { store: first.reprise.store });
  const one = first.session.send('one');
  await expect.poll(() => first.model.requests.length).toBe(1);
  const two = second.session.send('two');
  expect(await two.accepted).toMatchObject({ held: true });
  release();
  const events = [];
  for await (const event of two) events.push(event);
  expect((await one.result).text).toBe('to the first');
  expect(events.at(-1)).toMatchObject({ type: 'done', text: 'to the second' });
  const told = events.flatMap((event) => (event.type === 'entry' ? [event.seq] : []));
  const { entries } = await first.session.history();
  const stored = entries.filter(({ entry }) => JSON.stringify(entry).includes('to the second'));
  expect(told).toEqual(expect.arrayContaining(stored.map(({ seq }) => seq)));
  expect(told).toEqual([...told].sort((a, b) => a - b));
  second.model.assertDone();
});
