import { expect, test } from 'vitest';
import type { InboxItem, Store } from '../../src/index.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { over } from '../simulation/broken.ts';
import { gate, openChannels, telegram, until } from '../support/channels.ts';
import { scripted } from '../support/engine.ts';
import { readAll } from '../support/turn-judge.ts';

async function saidIn(store: Store, sessionId: string): Promise<unknown[]> {
  const entries = await readAll(store, sessionId);
  return entries.flatMap(({ message }) => {
    const { role, content } = (message ?? {}) as { role?: string; content?: unknown };
    return role === 'user' ? [content] : [];
  });
}

test('a message that interrupts stands behind those that were about to join the turn it ends', async () => {
  const open = gate();
  await using at = await openChannels(scripted([{ wait: open.promise, text: 'one' }, 'two']));
  const { sessionId } = await at.reprise.receive(telegram('first'));
  await until(() => at.model.requests.length === 1);
  await at.reprise.receive(telegram('steers', { queue: 'steer' }));
  await at.reprise.receive(telegram('interrupts', { queue: 'interrupt' }));
  await at.reprise.idle();
  expect(await saidIn(at.reprise.store, sessionId)).toEqual(['first', 'steers', 'interrupts']);
  at.model.assertDone();
  open.resolve();
});

test('a message that was stopped when the turn was about to take it along is not answered', async () => {
  const open = gate();
  const real = await openMemoryStore();
  let stopped: InboxItem | undefined;
  // Whoever looks while the turn runs has looked just before the message was stopped.
  const store = over(
    real,
    {},
    {
      async pending(query) {
        const rows = await real.inbox.pending(query);
        const isRunning = rows.some(({ state }) => state === 'running');
        return isRunning && stopped !== undefined ? [...rows, stopped] : rows;
      },
    },
  );
  await using at = await openChannels(scripted([{ wait: open.promise, calls: [{ name: 'none' }] }, 'done']), {
    store,
  });
  const { sessionId } = await at.reprise.receive(telegram('first'));
  await until(() => at.model.requests.length === 1);
  const { inboxId } = await at.reprise.receive(telegram('never mind', { queue: 'steer' }));
  stopped = await real.inbox.get(inboxId);
  await real.inbox.settle(inboxId, 'cancelled', { reason: 'stopped' });
  open.resolve();
  await at.reprise.idle();
  expect(await at.reprise.inbox(inboxId)).toMatchObject({ status: 'cancelled' });
  expect(await saidIn(real, sessionId)).toEqual(['first']);
});

test('a message that was about to join when its runner died has its turn before later ones', async () => {
  const store = await openMemoryStore();
  const receive = (text: string) =>
    store.inbox.receive({
      sessionKey: 'agent:main:telegram:direct:ada',
      source: 'telegram',
      body: { text, queue: { mode: 'steer', debounceMs: 0, at: 0 } },
    });
  const { sessionId } = await receive('first');
  const second = await receive('second');
  const lease = await store.lease(sessionId);
  const { epoch } = lease;
  await store.inbox.take(sessionId, { epoch });
  await store.inbox.take(sessionId, { epoch, inboxId: second.inboxId });
  await receive('third');
  await lease.release({ handOver: true });
  await using at = await openChannels(scripted(['to the first', 'to the others']), { store });
  await until(async () => (await store.inbox.pending()).length === 0);
  expect(await saidIn(store, sessionId)).toEqual(['first', 'second', 'third']);
  at.model.assertDone();
});

test('a group and a person of the same name have message ids of their own', async () => {
  await using at = await openChannels(scripted(['one', 'two']));
  const person = await at.reprise.receive(telegram('hello', { messageId: '7' }));
  const group = await at.reprise.receive(telegram('hello all', { messageId: '7', peerKind: 'group' }));
  expect(group).toMatchObject({ fresh: true });
  expect(group.sessionId).not.toBe(person.sessionId);
  await at.reprise.idle();
});

test('the first message of a chat may be long', async () => {
  await using at = await openChannels(scripted(['one']));
  await expect(at.reprise.receive(telegram('a long story '.repeat(20)))).resolves.toMatchObject({
    fresh: true,
  });
  await at.reprise.idle();
});
