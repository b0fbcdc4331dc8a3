import { expect, test } from 'vitest';
import { Reprise } from '../../../src/engine/reprise.ts';
import { EventLogs } from '../../../src/server/sse/event-logs.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { scripted } from '../../support/engine/engine.ts';

test('a log with a listener stays the log of its session however many others there are', async () => {
  const store = await openMemoryStore({});
  await using reprise = new Reprise({ store, model: scripted(['one', 'two', 'three', 'four']) });
  using logs = new EventLogs(reprise, { total: 0 });
  const say = async (sessionId: string): Promise<void> => {
    await reprise.receive({ sessionId, channel: 'web', text: 'hello' }, { atOnce: true });
    await reprise.idle();
  };
  const leaving = new AbortController();
  // Joined, and between two looks: nothing waits at this very moment.
  const log = logs.listen('s', leaving.signal);
  await say('a');
  await say('b');
  expect(logs.of('s')).toBe(log);
  await say('s');
  expect(log.newest?.members.size).toBe(1);
  leaving.abort();
  await say('c');
  expect(logs.of('s')).not.toBe(log);
});

test('a stream that begins while the logs in use are over the bound hears its session', async () => {
  const store = await openMemoryStore({});
  await using reprise = new Reprise({ store, model: scripted(['one', 'two']) });
  using logs = new EventLogs(reprise, { total: 0 });
  const { signal } = new AbortController();
  for (const sessionId of ['a', 'b']) {
    const listened = logs.listen(sessionId, signal);
    await reprise.receive({ sessionId, channel: 'web', text: 'hello' }, { atOnce: true });
    await reprise.idle();
    expect(listened.size).toBeGreaterThan(0);
    expect(listened.newest?.members.size).toBe(1);
  }
});
