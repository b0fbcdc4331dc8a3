import { expect, test } from 'vitest';
import type { InboxItem } from '../../../src/exports/store.ts';
import type { Store } from '../../../src/index.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { over } from '../../simulation/broken.ts';
import { gate, openChannels, telegram, until } from '../../support/engine/channels.ts';
import { scripted } from '../../support/engine/engine.ts';
import { readAll } from '../../support/engine/turn-judge.ts';

async function saidIn(store: Store, sessionId: string): Promise<unknown[]> {
  const entries = await readAll(store, sessionId);
  return entries.flatMap(({ message }) => {
    const { role, content } = (message ?? {}) as { role?: string; content?: unknown };
    return role === 'user' ? [content] : [];
  });
}

test('a message that interrupts stands after those that were about to join the turn it ends', async () => {
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

test('a message that was stopped when it was about to join a turn is not answered', async () => {
  const open = gate();
  const real = await openMemoryStore();
  let stopped: InboxItem | undefined;
  // A runner that looks while the turn runs has looked just before the message was stopped.
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

type Mode = 'steer' | 'interrupt';

/** What a runner leaves that is killed with some messages taken and nothing stored yet. */
async function leaveBehind(store: Store, said: readonly { text: string; mode: Mode; taken: boolean }[]) {
  const rows = [];
  for (const { text, mode, taken } of said) {
    const { inboxId, sessionId } = await store.inbox.receive({
      sessionKey: 'agent:main:telegram:direct:ada',
      source: 'telegram',
      body: { text, queue: { mode, debounceMs: 0, at: 0 } },
    });
    rows.push({ inboxId, sessionId, taken });
  }
  const { sessionId = '' } = rows[0] ?? {};
  const lease = await store.lease(sessionId);
  for (const { inboxId, taken } of rows)
    if (taken) await store.inbox.take(sessionId, { epoch: lease.epoch, inboxId });
  await lease.release({ handOver: true });
  return { sessionId, inboxIds: rows.map(({ inboxId }) => inboxId) };
}

test('a message that was about to join when its runner died has its turn before later ones', async () => {
  const store = await openMemoryStore();
  const { sessionId } = await leaveBehind(store, [
    { text: 'first', mode: 'steer', taken: true },
    { text: 'second', mode: 'steer', taken: true },
    { text: 'third', mode: 'steer', taken: false },
  ]);
  await using at = await openChannels(scripted(['to the first', 'to the others']), { store });
  await until(async () => (await store.inbox.pending()).length === 0);
  expect(await saidIn(store, sessionId)).toEqual(['first', 'second', 'third']);
  at.model.assertDone();
});

test('a message before one that interrupts stays before it when its runner dies at once', async () => {
  const store = await openMemoryStore();
  const { sessionId } = await leaveBehind(store, [
    { text: 'steers', mode: 'steer', taken: false },
    { text: 'interrupts', mode: 'interrupt', taken: true },
  ]);
  await using at = await openChannels(scripted(['to both']), { store });
  await until(async () => (await store.inbox.pending()).length === 0);
  expect(await saidIn(store, sessionId)).toEqual(['steers', 'interrupts']);
  at.model.assertDone();
});

test('no message of a turn that is written at its end runs again once a tool with side effects was called', async () => {
  const store = await openMemoryStore();
  const { sessionId, inboxIds } = await leaveBehind(store, [
    { text: 'first', mode: 'steer', taken: true },
    { text: 'second', mode: 'steer', taken: true },
  ]);
  const [first = '', second = ''] = inboxIds;
  await store.append(sessionId, [
    { type: 'custom', customType: 'reprise.calls', data: { inboxId: second, names: ['pay'] } },
  ]);
  await using at = await openChannels(scripted([]), { store, profile: 'zeroclaw' });
  await until(async () => (await store.inbox.pending()).length === 0);
  expect(await at.reprise.inbox(first)).toMatchObject({ status: 'interrupted' });
  expect(await at.reprise.inbox(second)).toMatchObject({ status: 'merged', mergedInto: first });
  expect(await saidIn(store, sessionId)).toEqual(['first', 'second']);
  expect(at.model.requests).toEqual([]);
});

test('a turn that is written at its end is resumed with all its messages, in order', async () => {
  const store = await openMemoryStore();
  const { sessionId } = await leaveBehind(store, [
    { text: 'first', mode: 'steer', taken: true },
    { text: 'second', mode: 'steer', taken: false },
    { text: 'interrupts', mode: 'interrupt', taken: true },
  ]);
  await using at = await openChannels(scripted(['to all three']), { store, profile: 'zeroclaw' });
  await until(async () => (await store.inbox.pending()).length === 0);
  expect(await saidIn(store, sessionId)).toEqual(['first', 'second', 'interrupts']);
  at.model.assertDone();
});

test('a runner that lost the session ends no message by an append that was stored before', async () => {
  await using store = await openMemoryStore();
  const { sessionId, inboxIds } = await leaveBehind(store, [{ text: 'first', mode: 'steer', taken: true }]);
  const [inboxId = ''] = inboxIds;
  const said = [{ type: 'message', message: { role: 'user', content: 'first' } }];
  const lost = await store.lease(sessionId);
  await lost.release({ handOver: true });
  const { epoch } = await store.lease(sessionId);
  const stored = await store.append(sessionId, said, { key: inboxId, epoch });
  const settle = [{ inboxId, state: 'merged', detail: { mergedInto: 'another' } }] as const;
  expect(await store.append(sessionId, said, { key: inboxId, epoch: lost.epoch, settle })).toEqual(stored);
  expect(await store.inbox.get(inboxId)).toMatchObject({ state: 'running' });
  expect(await store.append(sessionId, said, { key: inboxId, epoch, settle })).toEqual(stored);
  expect(await store.inbox.get(inboxId)).toMatchObject({ state: 'merged' });
});

test('a group and a person of the same name have separate message ids', async () => {
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
