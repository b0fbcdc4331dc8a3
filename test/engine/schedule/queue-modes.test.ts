import { describe, expect, test } from 'vitest';
import { explanationMessages } from '../../../src/engine/commands/report.ts';
import type { TurnEvent } from '../../../src/engine/events.ts';
import type { InboundMessage } from '../../../src/engine/intake/inbound.ts';
import type { Reprise, RepriseOptions } from '../../../src/engine/reprise.ts';
import type { Tool } from '../../../src/engine/tools/tool.ts';
import type { NewEntry } from '../../../src/exports/store.ts';
import type { JsonObject } from '../../../src/exports/transcript.ts';
import type { Entry } from '../../../src/index.ts';
import { messagesText } from '../../../src/messages/english.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import type { Turns } from '../../../src/store/port/turns.ts';
import { gate, openChannels, telegram, until } from '../../support/engine/channels.ts';
import { scripted } from '../../support/engine/engine.ts';
import { HandClock } from '../../support/engine/hand-clock.ts';

const ran: string[] = [];
const echo: Tool = {
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object' },
  run: () => {
    ran.push('echo');
    return 'echo';
  },
};

/** The script of all modes: one message runs, three come while it does, and one tool boundary is ahead. */
async function play(mode: NonNullable<InboundMessage['queue']>, { boundary = true } = {}) {
  ran.length = 0;
  const open = gate();
  const first = boundary
    ? { wait: open.promise, calls: [{ name: 'echo' }] }
    : { wait: open.promise, text: 'one' };
  const model = scripted([first, ...Array.from({ length: 4 }, (_, i) => `answer ${i + 1}`)]);
  const at = await openChannels(model, { tools: [echo] });
  const turns = countTurns(at.reprise);
  const receipts = [await at.reprise.receive(telegram('a', { queue: mode }))];
  await until(() => model.requests.length === 1);
  for (const text of ['b', 'c', 'd'])
    receipts.push(await at.reprise.receive(telegram(text, { queue: mode })));
  open.resolve();
  await at.reprise.idle();
  const statuses = await Promise.all(receipts.map(({ inboxId }) => at.reprise.inbox(inboxId)));
  const { entries } = await at.reprise.store.read(receipts[0]?.sessionId ?? '', { limit: 1000 });
  const said = entries.flatMap(({ entry }) => {
    const { message } = entry as Entry & { message?: { role: string; content: unknown } };
    return message?.role === 'user' ? [message.content] : [];
  });
  await at[Symbol.asyncDispose]();
  return {
    turns: turns.count,
    states: statuses.map(({ status }) => status),
    statuses,
    said,
    model,
    receipts,
  };
}

function countTurns(reprise: Reprise): { count: number } {
  const found = { count: 0 };
  const ids = new Set<string>();
  void (async () => {
    for await (const { event } of reprise.events()) {
      if (event.type === 'turn_start') ids.add((event as Extract<TurnEvent, { type: 'turn_start' }>).turnId);
      found.count = ids.size;
    }
  })();
  return found;
}

describe('explain', () => {
  const senders = ['Ada', 'Ben', 'Cy'];

  /** A turn that answers three messages of a group; the last two were merged into it. */
  async function mergedTurn(queue: 'steer' | 'collect', more: Partial<RepriseOptions> = {}) {
    const open = gate();
    const first = { wait: open.promise, calls: [{ name: 'echo' }] };
    const model = scripted(
      queue === 'steer' ? [first, 'to all'] : [{ wait: open.promise, text: 'x' }, 'to all'],
    );
    const at = await openChannels(model, { tools: [{ ...echo, safe: true }], ...more });
    const from = (name: string): Partial<InboundMessage> => ({
      ...{ peer: 'club', peerKind: 'group', mentioned: true, queue },
      sender: { id: name.toLowerCase(), name },
    });
    const receive = (name: string) => at.reprise.receive(telegram(`from ${name}`, from(name)));
    if (queue === 'collect') await receive('Zoe');
    const receipts = queue === 'steer' ? [await receive('Ada')] : [];
    await until(() => model.requests.length === 1);
    for (const name of senders.slice(receipts.length)) receipts.push(await receive(name));
    open.resolve();
    await at.reprise.idle();
    const session = await at.reprise.session({ id: receipts[0]?.sessionId ?? '' });
    return { at, session, ids: receipts.map(({ inboxId }) => inboxId) };
  }

  test.each([
    ['steered', 'steer', 'native', [1, 3, 4]],
    ['collected', 'collect', 'native', [3, 4, 5]],
    ['collected, and written at the end of the turn,', 'collect', 'zeroclaw', [3, 4, 5]],
  ] as const)(
    'names row, sender and position of all messages that were %s into a turn',
    async (_, mode, profile, positions) => {
      const { at, session, ids } = await mergedTurn(mode, { profile });
      await using _engine = at;
      const explained = await session.explain();
      expect(explained.messages).toMatchObject(
        ids.map((inboxId, i) => ({
          ...{ inboxId, state: i === 0 ? 'done' : 'merged', channel: 'telegram', position: positions[i] },
          ...(i > 0 && { mergedInto: ids[0] }),
          sender: { id: senders[i]?.toLowerCase(), name: senders[i] },
        })),
      );
      const text = messagesText(explanationMessages(explained)).split('\n');
      expect(text[0]).toMatch(/ for 3 messages\.$/);
      expect(text.slice(1, 4)).toEqual(
        ids.map((id, i) => {
          const state = i === 0 ? 'done' : 'merged';
          return `   #${positions[i]} from ${senders[i]} on telegram: inbox ${id}, ${state}`;
        }),
      );
    },
  );

  test('names them too if the end of the turn does not list them, as after a crash', async () => {
    const store = await openMemoryStore({});
    const append = store.append.bind(store);
    store.append = (id, entries, options) => append(id, entries.map(withoutMerged), options);
    const { turns } = store;
    const end: Turns['end'] = (turn, entries, options) =>
      turns.end(turn, entries.map(withoutMerged), options);
    Object.assign(store, { turns: { ...turns, end } });
    const { at, session, ids } = await mergedTurn('steer', { store });
    await using _engine = at;
    const { data, messages } = await session.explain();
    expect(data).not.toHaveProperty('merged');
    expect(messages.map(({ inboxId }) => inboxId)).toEqual(ids);
  });
});

function withoutMerged(entry: NewEntry): NewEntry {
  const { merged: _, ...data } = (entry['data'] ?? {}) as JsonObject;
  return entry['customType'] === 'reprise.turn' ? { ...entry, data } : entry;
}

describe('S9 four messages, three of them while the first turn runs', () => {
  test('steer: all join the turn at the tool boundary, and what had not started is skipped', async () => {
    const { turns, states, said, model, statuses } = await play('steer');
    expect(turns).toBe(1);
    expect(states).toEqual(['done', 'merged', 'merged', 'merged']);
    expect(said).toEqual(['a', 'b', 'c', 'd']);
    expect(ran).toEqual([]);
    expect(JSON.stringify(model.requests[1])).toContain('Skipped for a new message');
    expect(new Set(statuses.map(({ reply }) => reply?.text))).toEqual(new Set(['answer 1']));
  });

  test('steer without a boundary: what could not join runs next, in one turn', async () => {
    const { turns, states, said } = await play('steer', { boundary: false });
    expect(turns).toBe(2);
    expect(states).toEqual(['done', 'done', 'merged', 'merged']);
    expect(said).toEqual(['a', 'b', 'c', 'd']);
  });

  test.each(['followup', 'queue'] as const)('%s: one turn for each, in order', async (mode) => {
    const { turns, states, said, statuses } = await play(mode);
    expect(turns).toBe(4);
    expect(states).toEqual(['done', 'done', 'done', 'done']);
    expect(said).toEqual(['a', 'b', 'c', 'd']);
    expect(statuses.map(({ reply }) => reply?.text)).toEqual([
      'answer 1',
      'answer 2',
      'answer 3',
      'answer 4',
    ]);
    expect(ran).toEqual(['echo']);
  });

  test('collect: one turn for all queued messages, each marked with its sender', async () => {
    const { turns, states, said } = await play('collect');
    expect(turns).toBe(2);
    expect(states).toEqual(['done', 'done', 'merged', 'merged']);
    expect(said).toEqual(['[Ada] a', '[Ada] b', '[Ada] c', '[Ada] d']);
  });

  test.each(['steer-backlog', 'steer+backlog'] as const)(
    '%s: as steer, and one turn for the rest',
    async (mode) => {
      expect(await play(mode)).toMatchObject({ turns: 1, states: ['done', 'merged', 'merged', 'merged'] });
      expect(await play(mode, { boundary: false })).toMatchObject({
        turns: 2,
        states: ['done', 'done', 'merged', 'merged'],
      });
    },
  );

  test('interrupt: the turn ends, the newest runs, the others stand before it without an answer', async () => {
    const { states, statuses, said, receipts, model } = await play('interrupt');
    expect(states[0]).toBe('cancelled');
    // Each that arrived ended what ran, so only the last is sure to be answered by itself.
    expect(states[3]).toBe('done');
    expect(said).toEqual(['a', 'b', 'c', 'd']);
    for (const state of states.slice(1, 3)) expect(['merged', 'cancelled']).toContain(state);
    expect(statuses[0]?.error?.code).toBe('ABORTED');
    expect(model.requests.at(-1)?.messages.at(-1)).toMatchObject({
      role: 'user',
      content: [{ text: 'a\n\nb\n\nc\n\nd' }],
    });
    expect(receipts).toHaveLength(4);
  });
});

describe('a queued message', () => {
  test('never keeps a later one from steering', async () => {
    const open = gate();
    const model = scripted([{ wait: open.promise, calls: [{ name: 'echo' }] }, 'one', 'two']);
    await using at = await openChannels(model, { tools: [echo] });
    await at.reprise.receive(telegram('a'));
    await until(() => model.requests.length === 1);
    const queued = await at.reprise.receive(telegram('later', { queue: 'queue' }));
    const steered = await at.reprise.receive(telegram('now'));
    open.resolve();
    await at.reprise.idle();
    expect(await at.reprise.inbox(steered.inboxId)).toMatchObject({
      status: 'merged',
      reply: { text: 'one' },
    });
    expect(await at.reprise.inbox(queued.inboxId)).toMatchObject({ status: 'done', reply: { text: 'two' } });
  });

  test('at the cap the oldest are dropped, with an event, and kept as a line each for the model', async () => {
    const open = gate();
    const model = scripted([{ wait: open.promise, text: 'one' }, 'two', 'three']);
    const queue = { mode: 'queue', debounceMs: 0, cap: 2, drop: 'summarize' } as const;
    await using at = await openChannels(model, { session: { queue } });
    await at.reprise.receive(telegram('first'));
    await until(() => model.requests.length === 1);
    const told: string[] = [];
    void (async () => {
      for await (const { inboxId = '', event } of at.reprise.events())
        if (event.type === 'error') told.push(`${inboxId} ${event.code}`);
    })();
    const sent = [];
    for (const text of ['a', 'b', 'c', 'd']) sent.push(await at.reprise.receive(telegram(text)));
    open.resolve();
    await at.reprise.idle();
    const states = await Promise.all(
      sent.map(async ({ inboxId }) => (await at.reprise.inbox(inboxId)).status),
    );
    expect(states).toEqual(['dropped', 'dropped', 'done', 'done']);
    expect(told).toEqual(sent.slice(0, 2).map(({ inboxId }) => `${inboxId} QUEUE_FULL`));
    const [asked] = model.requests[1]?.messages.slice(-1) ?? [];
    expect(JSON.stringify(asked)).toContain('2 messages were dropped because too many waited]\\n- a\\n- b');
    model.assertDone();
  });

  test('at the cap with drop old the oldest are dropped, and the model reads nothing of them', async () => {
    const open = gate();
    const model = scripted([{ wait: open.promise, text: 'one' }, 'two']);
    const queue = { mode: 'queue', debounceMs: 0, cap: 1, drop: 'old' } as const;
    await using at = await openChannels(model, { session: { queue } });
    await at.reprise.receive(telegram('first'));
    await until(() => model.requests.length === 1);
    const dropped = await at.reprise.receive(telegram('an old word'));
    const kept = await at.reprise.receive(telegram('a new word'));
    open.resolve();
    await at.reprise.idle();
    expect(await at.reprise.inbox(dropped.inboxId)).toMatchObject({ status: 'dropped' });
    expect(await at.reprise.inbox(kept.inboxId)).toMatchObject({ status: 'done', reply: { text: 'two' } });
    const request = JSON.stringify(model.requests[1]?.messages);
    expect(request).toContain('a new word');
    expect(request).not.toMatch(/an old word|dropped/);
    model.assertDone();
  });

  test('at the cap with drop new it is refused before it is stored, and accepted later', async () => {
    const open = gate();
    const model = scripted([{ wait: open.promise, text: 'one' }, 'two', 'three']);
    const queue = { mode: 'queue', debounceMs: 0, cap: 1, drop: 'new' } as const;
    await using at = await openChannels(model, { session: { queue } });
    await at.reprise.receive(telegram('a'));
    await until(() => model.requests.length === 1);
    await at.reprise.receive(telegram('b'));
    const late = telegram('c', { messageId: 'm-c' });
    await expect(at.reprise.receive(late)).rejects.toMatchObject({ code: 'QUEUE_FULL', outcome: 'none' });
    open.resolve();
    await at.reprise.idle();
    const { inboxId } = await at.reprise.receive(late);
    await at.reprise.idle();
    expect(await at.reprise.inbox(inboxId)).toMatchObject({ status: 'done', reply: { text: 'three' } });
  });

  test('gets its position, and with reject is refused while the session works', async () => {
    const open = gate();
    const model = scripted([{ wait: open.promise, text: 'one' }, 'two']);
    await using at = await openChannels(model, { session: { queue: { mode: 'queue' } } });
    const session = await at.reprise.session('agent:main:main');
    const first = session.send('a');
    await until(() => model.requests.length === 1);
    const busy = at.reprise.receive({ text: 'b', channel: 'web', queue: 'reject' });
    await expect(busy).rejects.toMatchObject({ code: 'SESSION_BUSY' });
    const events: TurnEvent[] = [];
    const second = session.send('c');
    await second.accepted;
    open.resolve();
    for await (const event of second) events.push(event);
    expect(events.slice(0, 2)).toEqual([{ type: 'accepted' }, { type: 'queued', position: 1 }]);
    expect((await first.result).text).toBe('one');
    expect((await second.result).text).toBe('two');
  });
});

describe('debounce', () => {
  test('several messages of one sender in quick succession are one turn; another sender gets a separate one', async () => {
    const model = scripted(['one', 'two']);
    const clock = new HandClock();
    await using at = await openChannels(model, { clock, session: { queue: { debounceMs: 80 } } });
    const group = { peer: 'g', peerKind: 'group', queue: 'interrupt' } as const;
    const sent = [
      await at.reprise.receive(telegram('hello')),
      await at.reprise.receive(telegram('are you there?')),
      await at.reprise.receive(telegram('x', { ...group, sender: { id: 'bob' } })),
    ];
    clock.advance(79);
    for (const { inboxId } of sent) expect((await at.reprise.inbox(inboxId)).status).toBe('accepted');
    clock.advance(1);
    await at.reprise.idle();
    const states = await Promise.all(
      sent.map(async ({ inboxId }) => (await at.reprise.inbox(inboxId)).status),
    );
    expect(states).toEqual(['done', 'merged', 'done']);
    model.assertDone();
  });
});

test('/stop ends the running turn, keeps what arrived, and cancels queued messages', async () => {
  const open = gate();
  const model = scripted([{ text: ['I was ', 'about to'], calls: [], wait: open.promise }, 'later']);
  await using at = await openChannels(model, { session: { queue: { mode: 'queue', debounceMs: 0 } } });
  const a = await at.reprise.receive(telegram('a'));
  await until(() => model.requests.length === 1);
  const b = await at.reprise.receive(telegram('b'));
  const stopped = await at.reprise.receive(telegram('/stop'));
  expect(stopped.command).toMatchObject({
    name: 'stop',
    text: expect.stringContaining('1 queued message cancelled'),
  });
  await at.reprise.idle();
  expect((await at.reprise.inbox(a.inboxId)).status).toBe('cancelled');
  expect((await at.reprise.inbox(b.inboxId)).status).toBe('cancelled');
  expect((await at.reprise.inbox(stopped.inboxId)).status).toBe('done');
  open.resolve();
});
