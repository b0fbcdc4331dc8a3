import { describe, expect, test } from 'vitest';
import type { Tool } from '../../../src/engine/tools/tool.ts';
import { RepriseError } from '../../../src/index.ts';
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts';
import { gate, until } from '../../support/engine/channels.ts';
import { entriesOf, openEngine, overflow, say, scripted } from '../../support/engine/engine.ts';

const echo: Tool = {
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  safe: true,
  run: async ({ text }) => `echo: ${String(text)}`,
};

describe('a turn', () => {
  test('is accepted, told while it runs, stored, and ends once', async () => {
    await using at = await openEngine(scripted([{ text: ['Hel', 'lo.'] }]));
    const events = await say(at.session, 'hi');
    expect(events.map(({ type }) => type)).toEqual([
      'accepted',
      'turn_start',
      'text_delta',
      'text_delta',
      'usage',
      'entry',
      'entry',
      'done',
    ]);
    expect(events.at(-1)).toMatchObject({ text: 'Hello.' });
    const messages = (await entriesOf(at.session)).filter(({ type }) => type === 'message');
    expect(messages.map((entry) => (entry['message'] as { role: string }).role)).toEqual([
      'user',
      'assistant',
    ]);
    at.model.assertDone();
  });

  test('every send of a program has an answer of its own, however many wait', async () => {
    const open = gate();
    const model = scripted([
      { wait: open.promise, text: 'answer to 0' },
      ...Array.from({ length: 24 }, (_, i) => `answer to ${i + 1}`),
    ]);
    await using at = await openEngine(model);
    const { session } = at;
    // Also where channels and the chat of this session share turns.
    await session.patch({ queueMode: 'steer', queueCap: 2 });
    const streams = Array.from({ length: 25 }, (_, i) => session.send(`message ${i}`));
    await Promise.all(streams.map(({ accepted }) => accepted));
    open.resolve();
    const answers = await Promise.all(streams.map(({ result }) => result));
    expect(answers.map(({ text }) => text)).toEqual(streams.map((_, i) => `answer to ${i}`));
    expect(new Set(answers.map(({ turnId }) => turnId)).size).toBe(25);
  });

  test('a send with the queue mode of the session joins the turn that runs', async () => {
    const open = gate();
    const model = scripted([{ wait: open.promise, calls: [{ name: 'echo' }] }, 'to both']);
    await using at = await openEngine(model, { tools: [echo] });
    const { session } = at;
    const first = session.send('one');
    await until(() => model.requests.length === 1);
    const second = session.send('two', { queueMode: 'session' });
    await second.accepted;
    open.resolve();
    const [one, two] = await Promise.all([first.result, second.result]);
    expect([one.text, two.text]).toEqual(['to both', 'to both']);
    await expect(session.send('x', { queueMode: 'later' as 'steer' }).accepted).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });

  test('stopping a turn after holdQueue starts no queued message; the row stays accepted', async () => {
    const open = Promise.withResolvers<void>();
    await using at = await openEngine(scripted([{ wait: open.promise, text: 'one' }, 'two']));
    const first = at.session.send('first');
    for await (const { type } of first) if (type === 'turn_start') break;
    const second = await at.session.send('second').accepted;
    at.reprise.holdQueue();
    await at.session.stop();
    await expect(first.result).rejects.toMatchObject({ code: 'ABORTED' });
    await at.reprise.idle();
    expect(await at.reprise.inbox(second.inboxId)).toMatchObject({ status: 'accepted' });
    expect(at.model.requests).toHaveLength(1);
    open.resolve();
  });

  test('T57 stores the message before the model is called', async () => {
    let seen: unknown[] = [];
    await using at = await openEngine(
      scripted([
        async () => {
          seen = await entriesOf(at.session);
          return 'yes';
        },
      ]),
    );
    await say(at.session, 'are you there?');
    expect(JSON.stringify(seen)).toContain('are you there?');
  });

  test('calls tools side by side, stores their results in call order, and asks again', async () => {
    const order: string[] = [];
    const fastIsDone = Promise.withResolvers<void>();
    const waits: Tool = {
      ...echo,
      name: 'wait',
      run: async ({ text }) => {
        if (text === 'slow') await fastIsDone.promise;
        order.push(String(text));
        fastIsDone.resolve();
        return String(text);
      },
    };
    const calls = ['slow', 'fast'].map((text) => ({ name: 'wait', input: { text } }));
    await using at = await openEngine(scripted([{ text: 'Let me see.', calls }, 'Both done.']), {
      tools: [waits],
    });
    const result = await at.session.send('go').result;
    expect(result.text).toBe('Both done.');
    expect(order).toEqual(['fast', 'slow']);
    const [, request] = at.model.requests;
    expect(request?.messages.at(-1)).toMatchObject({
      role: 'tool',
      results: [{ text: 'slow' }, { text: 'fast' }],
    });
    at.model.assertDone();
  });

  test.each([
    ['throws', async () => Promise.reject(new Error('no such thing')), 'no such thing'],
    ['hangs', async () => new Promise<string>(() => undefined), 'timed out'],
    ['returns 50 MB', async () => 'x'.repeat(50_000_000), 'left out'],
    ['returns what JSON cannot say', async () => ({ a: 1n }) as never, 'BigInt'],
    ['returns nothing', async () => undefined as never, '(no output)'],
  ] as const)('goes on when a tool %s', async (_, run, expected) => {
    const tool: Tool = { ...echo, name: 'bad', timeoutMs: 50, maxOutputChars: 1000, run };
    await using at = await openEngine(scripted([{ calls: [{ name: 'bad' }] }, 'I see.']), { tools: [tool] });
    expect((await at.session.send('go').result).text).toBe('I see.');
    const results = at.model.requests[1]?.messages.at(-1);
    expect(JSON.stringify(results)).toContain(expected);
    expect(JSON.stringify(results).length).toBeLessThan(3000);
  });

  test('answers calls of unknown tools and broken arguments itself', async () => {
    const calls = [{ name: 'nobody' }, { name: 'echo', rawArguments: '{"text": "ha' }];
    await using at = await openEngine(scripted([{ calls }, 'Sorry.']), { tools: [echo] });
    await at.session.send('go').result;
    expect(at.model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool' });
    expect(JSON.stringify(at.model.requests[1]?.messages)).toContain('no tool named \\"nobody\\"');
  });

  test('that fails ends in one error with its code, and the session goes on', async () => {
    const failed = new RepriseError('MODEL_AUTH', 'invalid x-api-key');
    await using at = await openEngine(scripted([{ text: 'I was about to', error: failed }, 'Here again.']));
    const stream = at.session.send('one');
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events.filter(({ type }) => type === 'error' || type === 'done')).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ type: 'error', code: 'MODEL_AUTH' });
    await expect(stream.result).rejects.toMatchObject({ code: 'MODEL_AUTH' });
    expect((await at.session.send('two').result).text).toBe('Here again.');
    // What had arrived is kept and marked; the request after it is valid.
    expect(JSON.stringify(at.model.requests[1]?.messages)).toContain('I was about to');
    at.model.assertDone();
  });

  test('T43 that breaks inside a call keeps neither the call nor an orphan', async () => {
    await using at = await openEngine(createOfflineModel({ variant: 'orphan-tool' }), { tools: [echo] });
    await expect(at.session.send('call echo with {"text":"x"}').result).rejects.toMatchObject({
      code: 'MODEL_FAILED',
    });
    // As long as the first holds the session, it would answer the next message too.
    await expect.poll(() => at.reprise.store.leases()).toEqual([]);
    const second = scripted(['ok']);
    await using next = await openEngine(second, { store: at.reprise.store, tools: [echo] });
    await next.session.send('and now?').result;
    second.assertDone();
  });

  test('two at once run one after the other, in the order they were accepted', async () => {
    await using at = await openEngine(scripted([{ wait: 30, text: 'first' }, 'second', 'third']), {
      session: { queue: { mode: 'queue' } },
    });
    const streams = ['a', 'b', 'c'].map((text) => at.session.send(text));
    const results = await Promise.all(streams.map(({ result }) => result));
    expect(results.map(({ text }) => text)).toEqual(['first', 'second', 'third']);
    const said = (await entriesOf(at.session)).filter(({ type }) => type === 'message');
    expect(said.map((entry) => (entry['message'] as { role: string }).role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
    ]);
  });

  test('can be stopped: what arrived stays, the next message follows', async () => {
    const controller = new AbortController();
    await using at = await openEngine(createOfflineModel({ variant: 'slow', delayMs: 20 }));
    const stream = at.session.send('tell me a long story', { signal: controller.signal });
    for await (const event of stream) if (event.type === 'text_delta') controller.abort();
    await expect(stream.result).rejects.toMatchObject({ code: 'ABORTED' });
    const answer = (await entriesOf(at.session)).findLast(({ type }) => type === 'message')?.['message'];
    expect(answer).toMatchObject({ role: 'assistant', stopReason: 'aborted', content: [{ type: 'text' }] });
    await expect.poll(() => at.reprise.store.leases()).toEqual([]);
    const model = scripted(['Fine.']);
    await using next = await openEngine(model, { store: at.reprise.store });
    expect((await next.session.send('ok').result).text).toBe('Fine.');
    model.assertDone();
  });

  test('sent twice under one key runs once', async () => {
    await using at = await openEngine(scripted(['only once']));
    const options = { idempotencyKey: 'k' };
    const [one, two] = [at.session.send('x', options), at.session.send('x', options)];
    expect((await one.result).text).toBe('only once');
    expect((await two.result).text).toBe('only once');
    await expect(at.session.send('y', options).result).rejects.toMatchObject({ code: 'KEY_REUSED' });
    at.model.assertDone();
  });

  test('throws before it is accepted, and only then', async () => {
    await using at = await openEngine(scripted([]));
    const read = async (): Promise<void> => {
      for await (const _ of at.session.send('   ')) expect.unreachable();
    };
    await expect(read()).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(await entriesOf(at.session)).toHaveLength(1);
  });

  test('with more steps than allowed ends, and the history stays whole', async () => {
    const step = { calls: [{ name: 'echo', input: { text: 'again' } }] };
    await using at = await openEngine(scripted([step, step, step, 'done']), { tools: [echo], maxSteps: 3 });
    await expect(at.session.send('loop').result).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
    expect((await at.session.send('enough').result).text).toBe('done');
  });

  test('whose answer no line could hold keeps as much as fits, ends in an error, and the session goes on', async () => {
    const text = '\u0001'.repeat(2_500_000);
    await using at = await openEngine(scripted([{ text }, 'Shorter.'], 10_000_000));
    expect((await say(at.session, 'hi')).at(-1)).toMatchObject({ type: 'error', code: 'LIMIT_EXCEEDED' });
    const [answer, end] = (await entriesOf(at.session)).slice(-2);
    const message = answer?.['message'] as { content: { text: string }[] } | undefined;
    expect(message?.content[0]?.text.length).toBe(2_000_000);
    expect(end).toMatchObject({ customType: 'reprise.turn', data: { status: 'error' } });
    expect((await at.session.send('less').result).text).toBe('Shorter.');
  });
});

test('tokens and cost add up over the turns of a session', async () => {
  const usage = {
    input: 100,
    output: 20,
    cacheRead: 5,
    cacheWrite: 0,
    totalTokens: 125,
    cost: { total: 0.5 },
  };
  const call = { calls: [{ name: 'echo', input: { text: 'a' } }], usage };
  await using at = await openEngine(scripted([call, { text: 'one', usage }, { text: 'two', usage }]), {
    tools: [echo],
  });
  for (const text of ['a', 'b']) await at.session.send(text).result;
  await at.session.undo();
  expect(await at.session.totals()).toMatchObject({
    turns: 2,
    calls: 3,
    usage: { input: 300, output: 60, cacheRead: 15, totalTokens: 375, cost: { total: 1.5 } },
  });
});

describe('S7 the window', () => {
  test.each([
    [8000, true, true],
    [16_000, false, true],
    [31_999, false, true],
    [32_000, false, false],
  ])('of %i tokens: blocked %s, warned of %s', async (contextTokens, shouldBlock, shouldWarn) => {
    await using at = await openEngine(scripted(shouldBlock ? [] : ['fine']), { contextTokens });
    expect((await at.session.context()).window).toMatchObject({
      tokens: contextTokens,
      source: 'option',
      shouldBlock,
      shouldWarn,
    });
    const sent = at.session.send('hello').result;
    if (shouldBlock) await expect(sent).rejects.toMatchObject({ code: 'CONTEXT_WINDOW_TOO_SMALL' });
    else expect((await sent).text).toBe('fine');
  });
});

describe('S11 the prefix', () => {
  test('of fifty turns: every request begins with the one before it', async () => {
    const steps = Array.from({ length: 50 }, (_, i) =>
      i % 5 === 4 ? { text: 'Look.', calls: [{ name: 'echo', input: { text: `${i}` } }] } : `answer ${i}`,
    );
    const script = steps.flatMap((step) => (typeof step === 'string' ? [step] : [step, 'so']));
    await using at = await openEngine(scripted(script), { tools: [echo] });
    for (let i = 0; i < 50; i++) await at.session.send(`question ${i}`).result;
    const texts = at.model.requests.map(({ messages }) => JSON.stringify(messages).slice(0, -1));
    for (const [i, text] of texts.entries())
      if (i > 0) expect(text.startsWith(texts[i - 1] ?? '-')).toBe(true);
    at.model.assertDone();
  });
});

describe('what the model saw', () => {
  test('is made again byte for byte, long after', async () => {
    await using at = await openEngine(
      scripted([{ calls: [{ name: 'echo', input: { text: 'a' } }] }, 'one', 'two', 'three']),
      { tools: [echo] },
    );
    for (const text of ['first', 'second', 'third']) await at.session.send(text).result;
    const last = await at.session.explain();
    expect(last.calls).toMatchObject([{ verified: true, extendsPrevious: true }]);
    const turns = (await entriesOf(at.session)).filter(({ customType }) => customType === 'reprise.turn');
    const { turnId } = (turns[0]?.['data'] ?? {}) as { turnId?: string };
    const first = await at.session.explain(turnId);
    expect(first.calls.map(({ verified }) => verified)).toEqual([true, true]);
    expect(first.calls[1]?.request.messages).toEqual(at.model.requests[1]?.messages);
    await expect(at.session.explain('nobody')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

test('an overflow that names the limit teaches the window', async () => {
  const filler = 'word '.repeat(4000);
  await using at = await openEngine(
    scripted([filler, filler, filler, overflow(20_000, 24_000), 'a summary', 'made it']),
  );
  for (const text of ['a', 'b', 'c']) await at.session.send(text).result;
  expect((await at.session.send('d').result).text).toBe('made it');
  expect((await at.session.context()).window).toMatchObject({ tokens: 20_000, source: 'learned' });
});
