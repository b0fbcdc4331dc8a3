import { describe, expect, test } from 'vitest';
import type { InboundMessage } from '../../../src/engine/intake/inbound.ts';
import { gate, openChannels, telegram, until } from '../../support/engine/channels.ts';
import { scripted } from '../../support/engine/engine.ts';

const LONG = 'This is an answer of more than forty characters, said once.';

describe('a message of a channel', () => {
  test('is durable when it is acknowledged, and runs by itself', async () => {
    await using at = await openChannels(scripted(['hello Ada']));
    const { inboxId, sessionId, sessionKey, fresh } = await at.reprise.receive(telegram('hi'));
    expect({ sessionKey, fresh }).toEqual({ sessionKey: 'agent:main:telegram:direct:ada', fresh: true });
    await at.reprise.idle();
    const became = await at.reprise.inbox(inboxId);
    expect(became).toMatchObject({ status: 'done', sessionId, reply: { text: 'hello Ada' } });
    expect(became).not.toHaveProperty('mergedInto');
  });

  test('can be followed to its end', async () => {
    const open = gate();
    await using at = await openChannels(scripted([{ wait: open.promise, text: ['a', 'b'] }]));
    const { inboxId } = await at.reprise.receive(telegram('hi'));
    const stream = at.reprise.follow(inboxId);
    await stream.accepted;
    open.resolve();
    const types = [];
    for await (const { type } of stream) types.push(type);
    expect(types.at(-1)).toBe('done');
    expect((await stream.result).text).toBe('ab');
  });

  test('delivered twice is accepted once, even with other words', async () => {
    await using at = await openChannels(scripted(['one']));
    const first = await at.reprise.receive(telegram('hi', { messageId: '7' }));
    const again = await at.reprise.receive(telegram('hi (edited)', { messageId: '7' }));
    expect(again).toEqual({ ...first, fresh: false });
    await at.reprise.idle();
    at.model.assertDone();
    const other = await at.reprise.receive(
      telegram('hi', { messageId: '7', peer: 'bob', sender: { id: 'bob' } }),
    );
    expect(other.fresh).toBe(true);
  });

  test('T59 under the same key is one message; with other words it is refused', async () => {
    await using at = await openChannels(scripted(['one', 'two']));
    const message = telegram('pay', { idempotencyKey: 'k' });
    const first = await at.reprise.receive(message);
    expect(await at.reprise.receive(message)).toEqual({ ...first, fresh: false });
    await expect(at.reprise.receive({ ...message, text: 'pay more' })).rejects.toMatchObject({
      code: 'KEY_REUSED',
    });
    await at.reprise.idle();
    // What happened since changes nothing about the answer.
    await at.reprise.receive(telegram('/new'));
    await at.reprise.receive(telegram('/queue collect'));
    expect(await at.reprise.receive(message)).toEqual({ ...first, fresh: false });
    const { entries } = await at.reprise.store.read(first.sessionId);
    expect(JSON.stringify(entries).split('"pay"')).toHaveLength(2);
  });

  const peers: [string, Partial<InboundMessage>][] = [
    ['a peer', {}],
    ['another case', { peer: 'Ada' }],
    ['a colon', { peer: 'ada:1' }],
    ['a slash', { peer: 'ada/1' }],
    ['an escape', { peer: 'ada%3A1' }],
    ['another channel', { channel: 'discord' }],
    ['a group of the same name', { peerKind: 'group' }],
    ['a channel of the same name', { peerKind: 'channel' }],
    ['a thread', { thread: '1' }],
    ['another agent', { agentId: 'helper' }],
  ];
  test('arrives in a separate session for every peer, channel, group and thread', async () => {
    const model = scripted(peers.map(([name]) => name));
    await using at = await openChannels(model, { agents: { helper: {} }, run: false });
    const sessions = [];
    for (const [name, more] of peers)
      sessions.push((await at.reprise.receive(telegram(name, more))).sessionId);
    expect(new Set(sessions).size).toBe(peers.length);
    for (const [i, [name, more]] of peers.entries())
      expect((await at.reprise.receive(telegram(name, more))).sessionId).toBe(sessions[i]);
  });

  test('stores in its session which chat it came from, and replaces it when that changes', async () => {
    await using at = await openChannels(scripted([]), { run: false });
    const place = {
      account: 'work',
      peer: '-100',
      peerKind: 'group',
      sessionKey: 'agent:main:family',
    } as const;
    const { sessionId } = await at.reprise.receive(telegram('hi', { ...place, thread: '42' }));
    const settings = async (): Promise<object> => (await at.reprise.store.get(sessionId)).settings;
    const first = { chatType: 'group', channel: 'telegram', lastChannel: 'telegram', lastTo: '-100' };
    expect(await settings()).toEqual({ ...first, lastAccountId: 'work', lastThreadId: '42' });
    const moved = { ...place, channel: 'discord', peer: 'general', peerKind: 'channel' } as const;
    const { account: _, ...there } = moved;
    await at.reprise.receive(telegram('over here', there));
    const now = { chatType: 'channel', channel: 'discord', lastChannel: 'discord', lastTo: 'general' };
    // Neither the account nor the thread is one of that channel.
    expect(await settings()).toEqual(now);
    await at.reprise.receive(telegram('a door opened', { ...place, system: true }));
    expect(await settings()).toEqual(now);
  });

  test('of one person on two accounts or channels shares a session only if they are linked', async () => {
    const session = {
      dmScope: 'per-account-channel-peer',
      identityLinks: { ada: ['telegram:1', 'discord:9'] },
    } as const;
    await using at = await openChannels(scripted([]), { run: false, session });
    const work = await at.reprise.receive(telegram('x', { peer: '5', account: 'work' }));
    const home = await at.reprise.receive(telegram('x', { peer: '5', account: 'home' }));
    expect(work.sessionId).not.toBe(home.sessionId);
    await using linked = await openChannels(scripted([]), {
      run: false,
      session: { ...session, dmScope: 'per-peer' },
    });
    const one = await linked.reprise.receive(telegram('x', { peer: '1' }));
    const two = await linked.reprise.receive({ text: 'y', channel: 'discord', peer: '9' });
    expect(one.sessionId).toBe(two.sessionId);
  });

  test('can name its session; an unknown id is created, another agent is refused', async () => {
    await using at = await openChannels(scripted([]), { run: false, agents: { helper: {} } });
    const made = await at.reprise.receive({ text: 'x', channel: 'http', sessionId: 'my-own-1' });
    expect(made).toMatchObject({ sessionId: 'my-own-1', sessionKey: 'agent:main:session:my-own-1' });
    const again = await at.reprise.receive({ text: 'y', channel: 'http', sessionId: 'my-own-1' });
    expect(again.sessionId).toBe('my-own-1');
    const foreign = at.reprise.receive({
      text: 'y',
      channel: 'http',
      sessionId: 'my-own-1',
      agentId: 'helper',
    });
    await expect(foreign).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    const bad = at.reprise.receive({ text: 'y', channel: 'http', sessionId: '../x' });
    await expect(bad).rejects.toMatchObject({ code: 'INVALID_ID' });
  });

  test.each([
    ['an unknown agent', { agentId: 'nobody' }, 'NOT_FOUND'],
    ['an invalid agent id', { agentId: '../x' }, 'INVALID_ID'],
    ['a key of an unknown agent', { sessionKey: 'agent:nobody:main' }, 'NOT_FOUND'],
    ['an invalid key', { sessionKey: 'agent::' }, 'INVALID_ID'],
    ['no text', { text: '  ' }, 'INVALID_INPUT'],
    ['too much text', { text: 'x'.repeat(1_000_001) }, 'LIMIT_EXCEEDED'],
    ['no channel', { channel: '' }, 'INVALID_INPUT'],
    ['an unknown mode', { queue: 'sometimes' as never }, 'INVALID_INPUT'],
    ['a sender that is none', { sender: 'bob' as never }, 'INVALID_INPUT'],
    ['a group without a name', { peerKind: 'group', peer: undefined as never }, 'INVALID_INPUT'],
  ] as const)('with %s is refused, and nothing is left of it', async (_name, more, code) => {
    await using at = await openChannels(scripted([]), { run: false });
    const refused = at.reprise.receive(telegram('x', more as Partial<InboundMessage>));
    await expect(refused).rejects.toMatchObject({ code });
    expect((await at.reprise.sessions()).sessions).toEqual([]);
    expect(await at.reprise.store.inbox.pending()).toEqual([]);
  });

  test('that is our own output coming back is stored, marked, and not answered', async () => {
    await using at = await openChannels(scripted([LONG, 'short']));
    await at.reprise.receive(telegram('hi'));
    await at.reprise.idle();
    const echoed = await at.reprise.receive(telegram(LONG));
    expect(echoed.ignored).toBe('own words');
    expect(await at.reprise.inbox(echoed.inboxId)).toMatchObject({ status: 'dropped' });
    const self = await at.reprise.receive(telegram('x', { account: 'bot', sender: { id: 'bot' } }));
    expect(self.ignored).toBe('own account');
    await at.reprise.receive(telegram('ok'));
    await at.reprise.idle();
    at.model.assertDone();
  });

  test('in a group that does not mention the agent is seen later, and not answered', async () => {
    const model = scripted(['yes?']);
    await using at = await openChannels(model);
    const group = { peer: 'g', peerKind: 'group' } as const;
    const quiet = await at.reprise.receive(telegram('lunch at noon', { ...group, mentioned: false }));
    await at.reprise.idle();
    expect(model.requests).toHaveLength(0);
    expect((await at.reprise.inbox(quiet.inboxId)).status).toBe('done');
    await at.reprise.receive(
      telegram('when is lunch?', { ...group, mentioned: true, sender: { id: 'bob' } }),
    );
    await at.reprise.idle();
    expect(JSON.stringify(model.requests[0])).toContain('[Ada] lunch at noon');
    expect(JSON.stringify(model.requests[0])).toContain('[bob] when is lunch?');
  });

  test('is refused if the send policy says so', async () => {
    const sendPolicy = { rules: [{ action: 'deny', match: { channel: 'discord' } }] } as const;
    await using at = await openChannels(scripted([]), { run: false, session: { sendPolicy } });
    const denied = at.reprise.receive({ text: 'x', channel: 'discord', peer: 'bob' });
    await expect(denied).rejects.toMatchObject({ code: 'SEND_DENIED' });
    expect((await at.reprise.receive(telegram('x'))).fresh).toBe(true);
  });
});

describe('a command on a channel', () => {
  test('is answered at once, without the queue, logged on the channel and never stored as a message', async () => {
    const open = gate();
    const model = scripted([{ wait: open.promise, text: 'done' }]);
    await using at = await openChannels(model);
    const { sessionId } = await at.reprise.receive(telegram('work'));
    await until(() => model.requests.length === 1);
    const shown = await at.reprise.receive(telegram('/queue', { messageId: '1' }));
    expect(shown.command?.text).toContain('steer');
    expect(await at.reprise.receive(telegram('/queue', { messageId: '1' }))).toEqual({
      ...shown,
      fresh: false,
    });
    const unknown = await at.reprise.receive(telegram('/contxt'));
    expect(unknown.command?.text).toContain('Did you mean /context?');
    const foreign = await at.reprise.receive(telegram('/sessions'));
    expect(foreign.command?.text).not.toContain(sessionId);
    open.resolve();
    await at.reprise.idle();
    const { entries } = await at.reprise.store.read(sessionId, { limit: 100 });
    expect(JSON.stringify(entries)).not.toMatch(/\/queue|contxt|\/sessions/);
    const chat = { agentId: 'main', channelType: 'telegram', channelId: 'ada' };
    const { lines } = await at.reprise.store.convlog.read(chat);
    expect(lines.map(({ role, content }) => `${role}: ${content.slice(0, 6)}`)).toContain('user: /queue');
    expect(lines.at(-1)).toMatchObject({ role: 'assistant', content: 'done' });
    model.assertDone();
  });

  test('two slashes are a message with one', async () => {
    const model = scripted(['ok']);
    await using at = await openChannels(model);
    await at.reprise.receive(telegram('//help me'));
    await at.reprise.idle();
    expect(model.requests[0]?.messages).toMatchObject([{ content: [{ text: '/help me' }] }]);
  });
});
