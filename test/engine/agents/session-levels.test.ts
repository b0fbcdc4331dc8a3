import { expect, test } from 'vitest';
import { runMaintenance } from '../../../src/engine/admin/run-maintenance.ts';
import type { Tool } from '../../../src/engine/tools/tool.ts';
import { openChannels, telegram } from '../../support/engine/channels.ts';
import { entriesOf, openEngine, say, scripted } from '../../support/engine/engine.ts';

const echo: Tool = {
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object' },
  safe: true,
  run: () => 'echo',
};

test('events that a session hides are stored all the same', async () => {
  const step = { thinking: { text: 'hm' }, calls: [{ name: 'echo' }] };
  await using at = await openEngine(scripted([step, 'one', step, 'two']), { tools: [echo] });
  const kinds = async (text: string): Promise<string[]> =>
    (await say(at.session, text)).map(({ type }) => type);
  expect(await kinds('a')).toEqual(expect.arrayContaining(['thinking_delta', 'tool_call', 'tool_result']));
  await at.session.patch({ reasoningLevel: 'off', verboseLevel: 'off' });
  const quiet = await kinds('b');
  for (const kind of ['thinking_delta', 'tool_call', 'tool_result']) expect(quiet).not.toContain(kind);
  const stored = JSON.stringify(await entriesOf(at.session));
  expect(stored.split('"thinking":"hm"')).toHaveLength(3);
});

test('the thinking level of a session is sent to the model, and can be removed', async () => {
  await using at = await openEngine(scripted(['one', 'two']));
  await at.session.patch({ thinkingLevel: 'high' });
  await at.session.send('a').result;
  await at.session.patch({ thinkingLevel: null });
  await at.session.send('b').result;
  expect(at.model.requests.map(({ thinkingLevel }) => thinkingLevel)).toEqual(['high', undefined]);
});

test('a reply ends with its usage if the session asks for it', async () => {
  const usage = { input: 1200, output: 34, cacheRead: 0, cacheWrite: 0, totalTokens: 1234 };
  await using at = await openChannels(
    scripted([
      { text: 'hi', usage },
      { text: 'again', usage },
    ]),
  );
  const first = await at.reprise.receive(telegram('a'));
  await at.reprise.idle();
  expect((await at.reprise.inbox(first.inboxId)).reply).toEqual({ text: 'hi' });
  await (await at.reprise.session({ id: first.sessionId })).patch({ responseUsage: 'tokens' });
  const { inboxId } = await at.reprise.receive(telegram('b'));
  await at.reprise.idle();
  const usageLine = 'Tokens: 1,200 in, 34 out';
  expect((await at.reprise.inbox(inboxId)).reply).toEqual({ text: 'again', usageLine });
  const chat = { agentId: 'main', channelType: 'telegram', channelId: 'ada' };
  const { lines } = await at.reprise.convlog.read(chat);
  expect(lines.at(-1)?.content).toBe(`again\n\n${usageLine}`);
});

test('a thread starts with the history of its parent, if it is so configured', async () => {
  const model = scripted(['noted', 'in the thread']);
  await using at = await openChannels(model, {
    session: { threads: { fork: true }, queue: { debounceMs: 0 } },
  });
  const group = { peer: 'g', peerKind: 'group' } as const;
  await at.reprise.receive(telegram('the word is xyzzy', group));
  await at.reprise.idle();
  await at.reprise.receive(telegram('which word?', { ...group, thread: '1' }));
  await at.reprise.idle();
  expect(JSON.stringify(model.requests[1])).toContain('xyzzy');
});

test('a reset that was undone is not made again by the next message', async () => {
  const hand = { now: new Date('2026-03-01T12:00:00Z') };
  const session = { reset: { mode: 'idle', idleMinutes: 60 }, queue: { debounceMs: 0 } } as const;
  await using at = await openChannels(scripted(['1', '2', '3']), { clock: () => hand.now, session });
  const old = await at.reprise.receive(telegram('a'));
  await at.reprise.idle();
  hand.now = new Date(Date.now() + 7_200_000); // transcripts have the store's time
  const next = await at.reprise.receive(telegram('b'));
  await at.reprise.idle();
  expect(next.sessionId).not.toBe(old.sessionId);
  await at.reprise.receive(telegram('/undo'));
  expect((await at.reprise.receive(telegram('/undo'))).command?.text).toContain('reset');
  hand.now = new Date();
  const back = await at.reprise.receive(telegram('c'));
  await at.reprise.idle();
  expect(back.sessionId).toBe(old.sessionId);
});

test('retention follows rules, lists first what it would remove, and moves it to the trash', async () => {
  const hand = { now: new Date() };
  const session = { maintenance: { ttl: '30d' }, queue: { debounceMs: 0 } } as const;
  await using at = await openChannels(scripted(['1', '2']), { clock: () => hand.now, session, run: false });
  const old = await at.reprise.receive(telegram('a'));
  const next = await at.reprise.receive(telegram('/new'));
  await at.reprise.store.inbox.settle(old.inboxId, 'cancelled');
  hand.now = new Date(Date.now() + 60 * 86_400_000);
  const { plan } = await at.reprise.maintain({ dryRun: true });
  expect(plan.delete.map(({ sessionId }) => sessionId).sort()).toEqual([old.sessionId, next.sessionId]);
  expect((await at.reprise.store.get(old.sessionId)).status).toBe('open');
  expect(await at.reprise.maintain()).toMatchObject({ deleted: 2, purged: 0 });
  expect((await at.reprise.store.get(old.sessionId)).status).toBe('deleted');
});

test('after ttl or archiveAfter removed the session of a key, the next message of its sender starts a new one', async () => {
  const hand = { now: new Date() };
  const pass = (days: number): void => {
    hand.now = new Date(hand.now.getTime() + days * 86_400_000);
  };
  const session = { maintenance: { archiveAfter: '30d' }, queue: { debounceMs: 0 } } as const;
  const model = scripted(['1', '2', '3', '4', '5', '6']);
  await using at = await openChannels(model, { clock: () => hand.now, session });
  const hear = async (text: string, more = {}): Promise<string> => {
    const { sessionId } = await at.reprise.receive(telegram(text, more));
    await at.reprise.idle();
    return sessionId;
  };
  const first = await hear('the word is xyzzy');
  await at.reprise.store.patch(first, { responseUsage: 'off' });
  pass(31);
  expect(await at.reprise.maintain()).toMatchObject({ archived: 1, deleted: 0 });
  // A message that names the session continues it.
  expect(await hear('still there?', { sessionId: first })).toBe(first);
  expect((await at.reprise.store.get(first)).settings).not.toHaveProperty('archived');
  expect(await hear('and here?')).toBe(first);

  pass(62); // transcripts have the store's time
  expect(await at.reprise.maintain()).toMatchObject({ archived: 1 });
  const second = await hear('which word?');
  expect(second).not.toBe(first);
  expect(JSON.stringify(model.requests.at(-1))).not.toContain('xyzzy');
  const { settings, parentId } = await at.reprise.store.get(second);
  expect({ ...settings, parentId }).toMatchObject({ responseUsage: 'off', parentId: first });
  expect(settings).not.toHaveProperty('archived');
  await at.reprise.receive(telegram('/undo'));
  await at.reprise.receive(telegram('/undo'));
  expect(await hear('back again')).toBe(first);

  pass(31);
  const plan = { ttl: '30d' } as const;
  const report = await runMaintenance(at.reprise.store, plan, { now: () => hand.now });
  expect(report.plan.delete.map(({ sessionId }) => sessionId)).toContain(first);
  expect((await at.reprise.store.get(first)).status).toBe('deleted');
  expect([first, second]).not.toContain(await hear('anyone?'));
});

test('the window of an agent is a cap for its sessions only', async () => {
  const agents = { small: { contextTokens: 16_000 } };
  await using at = await openEngine(scripted([]), { agents, contextTokens: 64_000 });
  const windowOf = async (key: string): Promise<number> =>
    (await (await at.reprise.session(key)).context()).window.tokens;
  expect(await windowOf('agent:small:main')).toBe(16_000);
  expect(await windowOf('agent:main:main')).toBe(64_000);
});
