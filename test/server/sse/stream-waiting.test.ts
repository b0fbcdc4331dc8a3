import { expect, test } from 'vitest';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { pacedModel } from '../../support/engine/paced-model.ts';
import { allEvents, frames, openServer, textOf } from '../../support/server/server.ts';

const WORDS = Array.from({ length: 60 }, (_, i) => `${i} `);

test('a client that waits for its turn costs the store nothing while others are answered, and then receives all of it', async () => {
  const store = await openMemoryStore({});
  let looks = 0;
  const counting = new Proxy(store, {
    get: (_, name) => {
      const value: unknown = Reflect.get(store, name, store);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (name === 'read' || name === 'watch' || name === 'get') looks++;
        return value.apply(store, args);
      };
    },
  });
  const model = pacedModel(WORDS);
  await using at = await openServer(model, { store: counting });
  const said = { sessionId: 's', queue: 'followup' };
  const first = frames(await at.chat({ ...said, message: 'first' }));
  const heard = async (type: string): Promise<void> => {
    for (;;) {
      const { value } = await first.next();
      if (value === undefined || value.event.type === type) return;
    }
  };
  await heard('turn_start');
  const second = allEvents(at.chat({ ...said, message: 'second' }));
  const third = allEvents(
    await at.request('/api/agents/main/chat/stream?sessionId=s'), // whatever runs
  );
  const before = looks;
  for (let i = 0; i < 40; i++) {
    model.allow(1);
    await heard('text_delta');
  }
  const asked = looks - before;
  model.allow(1000);
  const events = await second;
  expect(textOf(events)).toBe(WORDS.join(''));
  expect(events.filter(({ type }) => type === 'done' || type === 'error')).toHaveLength(1);
  expect(textOf(await third)).toBe(WORDS.join(''));
  await heard('done');
  // The cost of starting to listen, however many events arrive meanwhile.
  expect(asked).toBeLessThan(20);
});
