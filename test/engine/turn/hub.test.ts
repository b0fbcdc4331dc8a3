import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { NO_USAGE } from '../../../src/engine/admin/totals.ts';
import type { SessionEvent, TurnEvent } from '../../../src/engine/events.ts';
import { Hub } from '../../../src/engine/hub.ts';

const about = (event: TurnEvent): SessionEvent => ({ sessionId: 's', inboxId: 'm', event });
const done = (turnId: string): SessionEvent =>
  about({ type: 'done', turnId, text: '', usage: NO_USAGE, tokenEstimate: 0 });

async function heardBy(subscription: AsyncIterable<SessionEvent>): Promise<SessionEvent[]> {
  const heard: SessionEvent[] = [];
  for await (const event of subscription) heard.push(event);
  return heard;
}

test('a listener that does not read hears every end of a turn all the same, and not everything else', async () => {
  const hub = new Hub();
  const subscription = hub.subscribe(() => true);
  hub.publish(done('first'));
  for (let seq = 0; seq < 15_000; seq++) hub.publish(about({ type: 'entry', seq, entryType: 'message' }));
  hub.publish(done('last'));
  subscription.close();
  const heard = await heardBy(subscription);
  expect(heard.length).toBeLessThan(15_000);
  expect(heard.at(0)).toEqual(done('first'));
  expect(heard.at(-1)).toEqual(done('last'));
});

test('a listener that leaves is not kept by the signal that could have ended it', async () => {
  const hub = new Hub();
  const { signal } = new AbortController();
  for (let i = 0; i < 3; i++) hub.subscribe(() => true, { signal }).close();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  const closed = hub.subscribe(() => true, { signal: AbortSignal.abort() });
  expect(await heardBy(closed)).toEqual([]);
});
