import { expect, test } from 'vitest';
import { entriesOf, withTicket } from '../../../src/engine/intake/inbound.ts';
import { Reprise } from '../../../src/engine/reprise.ts';
import type { InboxItem } from '../../../src/exports/store.ts';
import type { Store } from '../../../src/index.ts';
import { isTerminalFrame, type StreamEvent } from '../../../src/protocol/events.ts';
import { eventLogs } from '../../../src/server/sse/open-stream.ts';
import { EventStream } from '../../../src/server/sse/resume.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { KEY, scripted } from '../../support/engine/engine.ts';
import { textOf } from '../../support/server/server.ts';

/** What a process leaves that ran a message, took another into the same turn, and was killed. */
async function leftByTheDead(store: Store): Promise<{ sessionId: string; joined: string }> {
  const { id: sessionId } = await store.create({ key: KEY, activate: true });
  const receive = async (text: string): Promise<string> => {
    const body = withTicket({ text }, { mode: 'steer', debounceMs: 0, at: 0 });
    return (await store.inbox.receive({ sessionKey: KEY, sessionId, source: 'test', body })).inboxId;
  };
  const [lead, joined] = [await receive('first'), await receive('second')];
  const lease = await store.lease(sessionId);
  const { epoch } = lease;
  for (const inboxId of [lead, joined]) {
    const item = (await store.inbox.take(sessionId, { epoch, inboxId })) as InboxItem;
    const merged = { inboxId, state: 'merged', detail: { mergedInto: lead } } as const;
    const settle = inboxId === joined ? { settle: [merged] } : {};
    await store.append(sessionId, entriesOf(item), { key: inboxId, epoch, ...settle });
  }
  await lease.release({ handOver: true });
  return { sessionId, joined };
}

test('a message that had joined a turn before it was taken over ends once, with the answer of that turn', async () => {
  const store = await openMemoryStore({});
  const { sessionId, joined } = await leftByTheDead(store);
  await using reprise = new Reprise({ store, model: scripted(['for both']) });
  const logs = eventLogs(reprise);
  expect(await reprise.ended(joined)).toMatchObject({ type: 'done', text: 'for both' });
  await reprise.idle();
  const { signal } = new AbortController();
  const told: StreamEvent[] = [];
  const stream = new EventStream({ reprise, logs, sessionId, sessionKey: KEY, inboxId: joined, signal });
  for await (const batch of stream.batches()) told.push(...batch.map(({ event }) => event));
  expect(textOf(told)).toBe('for both');
  expect(told.filter(isTerminalFrame)).toMatchObject([{ type: 'done', text: 'for both' }]);
});
