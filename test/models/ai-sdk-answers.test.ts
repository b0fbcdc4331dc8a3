import { spawnSync } from 'node:child_process';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Answer, type ModelRequest } from '../../src/exports/models.ts';
import { rebuildHistory } from '../../src/exports/transcript.ts';
import { createModel, type Model } from '../../src/index.ts';
import {
  openAnthropicServer,
  openOpenAiServer,
  validateLocalTemplate,
  type WireAnswer,
  type WireServer,
} from '../../testing/index.ts';
import { EntryList } from '../support/engine/entries.ts';
import { pngBase64 } from '../support/engine/images.ts';
import { asking, READ_FILE, requestFor, run } from '../support/engine/models.ts';

const SIGNATURE = 'EqQBCkYIBxgCKkBß+/=\u2028"\\😀';
const REDACTED = 'EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIw==';
const ANSWER: WireAnswer = {
  blocks: [
    { type: 'thinking', thinking: 'Let me look…\n"quoted"', signature: SIGNATURE },
    { type: 'redacted', data: REDACTED },
    { type: 'text', text: 'Grüße 😀, one moment.' },
    { type: 'text', text: 'Reading:' },
    { type: 'call', id: 'toolu_1', name: 'read_file', arguments: { path: 'a "b"\n.txt', deep: { n: [1] } } },
    { type: 'call', id: 'toolu_2', name: 'read_file', arguments: {} },
  ],
  usage: { input: 100, output: 40, cacheRead: 30, cacheWrite: 20, reasoning: 12 },
};
const COST = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

const anthropic = async (server: WireServer, options = {}): Promise<Model> =>
  await createModel('anthropic:claude-a', { apiKey: 'key', baseURL: server.url, ...options });
const openai = async (server: WireServer, options = {}): Promise<Model> =>
  await createModel('openai:gpt-a', { apiKey: 'key', baseURL: server.url, ...options });

/** What carries a cache breakpoint, in the order of the body. */
function marked(value: unknown): [text: unknown, mark: unknown][] {
  if (typeof value !== 'object' || value === null) return [];
  const { cache_control: mark, text, name, ...rest } = value as Record<string, unknown>;
  const own: [unknown, unknown][] = mark === undefined ? [] : [[text ?? name, mark]];
  return [...own, ...Object.values(rest).flatMap(marked)];
}

describe('an answer of Anthropic', () => {
  test('becomes a message with thinking and signatures byte for byte, usage and cost', async () => {
    await using server = await openAnthropicServer({ script: [ANSWER], apiKey: 'key', model: 'claude-a' });
    const model = await anthropic(server, { cost: COST });
    const { finish, answer, events } = await run(model, { ...asking('hi'), tools: [READ_FILE] });
    const content = [
      { type: 'thinking', thinking: 'Let me look…\n"quoted"', thinkingSignature: SIGNATURE },
      { type: 'thinking', thinking: '', thinkingSignature: REDACTED, redacted: true },
      { type: 'text', text: 'Grüße 😀, one moment.' },
      { type: 'text', text: 'Reading:' },
      {
        type: 'toolCall',
        id: 'toolu_1',
        name: 'read_file',
        arguments: { path: 'a "b"\n.txt', deep: { n: [1] } },
      },
      { type: 'toolCall', id: 'toolu_2', name: 'read_file', arguments: {} },
    ];
    expect(finish?.message).toMatchObject({
      role: 'assistant',
      api: 'anthropic-messages',
      provider: 'anthropic',
      model: 'claude-a',
      stopReason: 'toolUse',
    });
    expect(finish?.message.content).toEqual(content);
    expect(answer.content()).toEqual(content);
    expect(events.filter(({ type }) => type === 'tool_call')).toHaveLength(2);
    expect(finish?.responseId).toMatch(/^msg_/);
    expect(finish?.usage).toMatchObject({
      input: 100,
      output: 40,
      cacheRead: 30,
      cacheWrite: 20,
      reasoning: 12,
      totalTokens: 190,
    });
    expect(finish?.usage?.cost?.['total']).toBeCloseTo((300 + 600 + 9 + 75) / 1_000_000, 12);
  });

  test('goes back as it came: the server knows its own thinking again', async () => {
    await using server = await openAnthropicServer({
      script: [ANSWER, { blocks: [{ type: 'text', text: 'done' }] }],
      ownThinking: true,
    });
    const model = await anthropic(server);
    const list = new EntryList();
    list.user('hi');
    const first = await run(model, { ...requestFor(model, list.entries), tools: [READ_FILE] });
    list.message({ ...first.finish?.message });
    list.result('toolu_1', 'one', { toolName: 'read_file' });
    list.result('toolu_2', 'two', { toolName: 'read_file' });
    const second = await run(model, { ...requestFor(model, list.entries), tools: [READ_FILE] });
    expect(second.error).toBeUndefined();
    expect(server.refused).toEqual([]);
    const sent = server.requests[1]?.body['messages'];
    // Only the breakpoints are the adapter's own.
    const plain = JSON.parse(JSON.stringify(sent), (key, value) =>
      key === 'cache_control' ? undefined : value,
    );
    expect(plain.slice(1)).toEqual(
      rebuildHistory(list.entries, { format: 'anthropic', target: model.target }).slice(1),
    );
  });

  test('is marked for the cache at tools, system prompt and the last two user turns, and nowhere if switched off', async () => {
    const blocks = [{ type: 'text', text: 'ok' }] as const;
    await using server = await openAnthropicServer({ script: [{ blocks }, { blocks }, { blocks }] });
    const model = await anthropic(server, { cacheTtl: '1h' });
    const request: ModelRequest = {
      ...asking('one', 'a', 'two', 'b', 'three', 'c', 'four'),
      system: 'Be brief.',
      tools: [{ ...READ_FILE, name: 'first' }, READ_FILE],
    };
    await run(model, request);
    await run(model, { ...request, cache: 'off' });
    await run(model, asking('only'));
    const marks = server.requests.map(({ body }) => marked(body));
    const mark = { type: 'ephemeral', ttl: '1h' };
    expect(marks).toEqual([
      [
        ['Be brief.', mark],
        ['three', mark],
        ['four', mark],
        ['read_file', mark],
      ],
      [],
      [['only', mark]],
    ]);
  });

  test('is marked once where results and words share a turn', async () => {
    await using server = await openAnthropicServer({ script: [{ blocks: [{ type: 'text', text: 'ok' }] }] });
    const model = await anthropic(server);
    const list = new EntryList();
    list.user('one');
    list.assistant([{ type: 'toolCall', id: 'c1', name: 'tool', arguments: {} }]);
    list.result('c1', 'done');
    list.user('two');
    await run(model, requestFor(model, list.entries));
    expect(marked(server.requests[0]?.body).map(([text]) => text)).toEqual(['one', 'two']);
  });

  test('shows images of users and of tools', async () => {
    await using server = await openAnthropicServer({
      script: [{ blocks: [{ type: 'text', text: 'seen' }] }],
    });
    const model = await anthropic(server);
    const image = { type: 'image', data: pngBase64(8, 8), mimeType: 'image/png' };
    const list = new EntryList();
    list.user([{ type: 'text', text: 'look' }, image]);
    list.assistant([{ type: 'toolCall', id: 'c1', name: 'shot', arguments: {} }]);
    list.result('c1', 'taken', { content: [{ type: 'text', text: 'taken' }, image] });
    const { error } = await run(model, requestFor(model, list.entries));
    expect([error, server.refused]).toEqual([undefined, []]);
    const messages = JSON.stringify(server.requests[0]?.body['messages']);
    expect(messages.match(/"type":"image"/g)).toHaveLength(2);
    expect(messages).toMatch(/"tool_result".*"taken".*"type":"image"/);
  });

  test('asks for thinking, and not in a round of tools that began without it', async () => {
    const blocks = [{ type: 'text', text: 'ok' }] as const;
    await using server = await openAnthropicServer({ script: [{ blocks }, { blocks }, { blocks }] });
    const model = await createModel('anthropic:claude-3-7-sonnet-20250219', {
      apiKey: 'key',
      baseURL: server.url,
    });
    const list = new EntryList();
    list.user('hi');
    await run(model, { ...requestFor(model, list.entries), thinkingLevel: 'low' });
    list.assistant([{ type: 'toolCall', id: 'c1', name: 'tool', arguments: {} }]);
    list.result('c1', 'done');
    await run(model, { ...requestFor(model, list.entries), thinkingLevel: 'low' });
    await run(model, { ...asking('hi'), thinkingLevel: 'off' });
    expect(server.refused).toEqual([]);
    const thinking = server.requests.map(({ body }) => body['thinking']);
    expect(thinking).toMatchObject([{ type: 'enabled' }, undefined, { type: 'disabled' }]);
  });

  test('that was withheld is an error that keeps its count', async () => {
    await using server = await openAnthropicServer({
      script: [{ blocks: [{ type: 'text', text: 'I' }], stop: 'refusal' }],
    });
    const { finish } = await run(await anthropic(server), asking('hi'));
    expect(finish?.stopReason).toBe('error');
    expect(finish?.message.errorMessage).toContain('refusal');
    expect(finish?.usage?.output).toBe(15);
  });

  test('that found the window full is an overflow, and one that stopped for its length only if it had no text', async () => {
    await using server = await openAnthropicServer({
      script: [
        { blocks: [], stop: 'window' },
        { blocks: [{ type: 'text', text: 'so far' }], stop: 'window' },
      ],
    });
    const model = await anthropic(server);
    expect((await run(model, asking('hi'))).error?.code).toBe('CONTEXT_OVERFLOW');
    expect((await run(model, asking('hi'))).finish?.stopReason).toBe('length');
  });
});

describe('an answer of chat completions', () => {
  test('becomes the same message, without what the format cannot sign', async () => {
    await using server = await openOpenAiServer({ script: [ANSWER], apiKey: 'key', reasoning: true });
    const model = await openai(server, { cost: COST, maxOutput: 500 });
    const request = { ...asking('hi'), tools: [READ_FILE], cacheKey: 'session-1' };
    const { finish } = await run(model, request);
    expect(server.refused).toEqual([]);
    expect(finish?.message.content).toEqual([
      { type: 'thinking', thinking: 'Let me look…\n"quoted"' },
      { type: 'text', text: 'Grüße 😀, one moment.Reading:' },
      expect.objectContaining({ type: 'toolCall', id: 'toolu_1' }),
      { type: 'toolCall', id: 'toolu_2', name: 'read_file', arguments: {} },
    ]);
    expect(finish?.usage).toMatchObject({
      input: 100,
      cacheRead: 30,
      output: 40,
      reasoning: 12,
      totalTokens: 170,
    });
    expect(server.requests[0]?.body).toMatchObject({
      prompt_cache_key: 'session-1',
      max_completion_tokens: 500,
    });
    expect(server.requests[0]?.body).not.toHaveProperty('max_tokens');
  });

  test('comes from a local server without a key, under strict templates', async () => {
    await using server = await openOpenAiServer({
      script: [ANSWER, { blocks: [{ type: 'text', text: 'done' }] }],
      validate: validateLocalTemplate,
    });
    const model = await createModel('openai-compatible:llama3:8b', {
      baseURL: server.url,
      provider: 'ollama',
      maxOutput: 500,
    });
    expect(model).toMatchObject({ id: 'llama3:8b', provider: 'ollama', target: { family: 'local' } });
    const list = new EntryList();
    list.user('hi');
    const { finish } = await run(model, { ...requestFor(model, list.entries), tools: [READ_FILE] });
    list.message({ ...finish?.message });
    list.result('toolu_1', 'one');
    list.user('never mind');
    const second = await run(model, requestFor(model, list.entries));
    expect([second.error, server.refused]).toEqual([undefined, []]);
    expect(second.answer.text).toBe('done');
    expect(server.requests[0]?.body).toMatchObject({ max_tokens: 500 });
    expect(server.requests[0]?.headers['authorization']).toBeUndefined();
  });

  test('without token counts has no usage, rather than a wrong one', async () => {
    await using server = await openOpenAiServer({ script: [{ blocks: [{ type: 'text', text: 'ok' }] }] });
    const model = await createModel('openai-compatible:m', {
      baseURL: server.url,
      includeUsage: false,
    } as object);
    const { finish } = await run(model, asking('hi'));
    expect(finish?.stopReason).toBe('stop');
    expect(finish).not.toHaveProperty('usage');
    expect(finish?.message).not.toHaveProperty('usage');
  });
});

describe('a call whose arguments are no JSON object', () => {
  test.each([
    ['cut short', '{"path": "a'],
    ['a list', '[1]'],
    ['no JSON', 'path=a'],
    ['deeper than can be stored', `{"a":${'['.repeat(300)}${']'.repeat(300)}}`],
  ])('comes with its text (%s) and is not to be run', async (_what, text) => {
    const script: WireAnswer[] = [
      { blocks: [{ type: 'call', id: 'c1', name: 'read_file', arguments: text }] },
    ];
    await using a = await openAnthropicServer({ script });
    await using o = await openOpenAiServer({ script });
    for (const model of [await anthropic(a), await openai(o)]) {
      const { events, finish } = await run(model, { ...asking('hi'), tools: [READ_FILE] });
      const call = { id: 'c1', name: 'read_file', input: {}, rawArguments: text };
      expect(events.find(({ type }) => type === 'tool_call')).toMatchObject(call);
      expect(finish?.message.content).toMatchObject([{ type: 'toolCall', arguments: {}, partialJson: text }]);
    }
  });

  test('counts as cut off when the answer ran out of room, even where it parses', async () => {
    const blocks = [
      { type: 'call', id: 'c1', name: 'read_file', arguments: '{"path":"a"}' },
      { type: 'call', id: 'c2', name: 'read_file', arguments: '' },
    ] as const;
    await using a = await openAnthropicServer({ script: [{ blocks, stop: 'length' }] });
    await using o = await openOpenAiServer({ script: [{ blocks, stop: 'length' }] });
    for (const model of [await anthropic(a), await openai(o)]) {
      const { finish, events } = await run(model, { ...asking('hi'), tools: [READ_FILE] });
      expect(finish?.stopReason).toBe('length');
      const calls = events.flatMap((event) => (event.type === 'tool_call' ? [event] : []));
      expect(calls.map(({ rawArguments }) => rawArguments !== undefined)).toEqual([false, true]);
    }
  });
});

test('an answer is gathered in its own order, signatures in pieces, without what stayed empty', () => {
  const answer = new Answer();
  answer.take({ type: 'text_delta', block: 2, text: 'b' });
  answer.take({ type: 'thinking_delta', block: 0, text: 'h' });
  answer.take({ type: 'thinking_delta', block: 0, text: 'm', signature: ' si' });
  answer.take({ type: 'text_delta', block: 1, text: '' });
  answer.take({ type: 'thinking_delta', block: 0, text: '', signature: 'g ' });
  answer.take({ type: 'text_delta', block: 2, text: 'c' });
  expect(answer.content()).toEqual([
    { type: 'thinking', thinking: 'hm', thinkingSignature: ' sig ' },
    { type: 'text', text: 'bc' },
  ]);
});

describe('createModel', () => {
  test.each(['', 'gpt-4', 'offline:nonsense', 'offline:', 'anthropic:', 'constructor:x', ':x'])(
    'does not know "%s" and says what it knows',
    async (ref) => {
      await expect(createModel(ref)).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
    },
  );

  test('asks for a key before anything is sent, and never takes one from the environment', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'from the environment');
    vi.stubEnv('OPENAI_API_KEY', 'from the environment');
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    for (const ref of ['anthropic:claude-a', 'openai:gpt-a'])
      for (const apiKey of [undefined, '', ' '])
        await expect(createModel(ref, { apiKey })).rejects.toMatchObject({ code: 'MODEL_AUTH' });
  });

  test('loads the SDK with the first request, so that starting stays fast', () => {
    const code = `
      import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({ resolve: (name, context, next) => (loaded.push(name), next(name, context)) });
      const { createModel } = await import(${JSON.stringify(new URL('../../src/index.ts', import.meta.url))});
      const model = await createModel('anthropic:m', { apiKey: 'k', fetch: () => Promise.reject(new Error('no')) });
      const count = () => loaded.filter((name) => name.startsWith('@ai-sdk/')).length;
      const before = count();
      const request = { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }] };
      await model.stream(request)[Symbol.asyncIterator]().next().catch(() => {});
      console.log(before, count() > 0);
    `;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      encoding: 'utf8',
    });
    expect(stdout, stderr).toBe('0 true\n');
  });

  test('asks for an address where there is no default', async () => {
    await expect(createModel('openai-compatible:m')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('takes a model object of the AI SDK, and knows whose it is', async () => {
    await using server = await openAnthropicServer({ script: [ANSWER] });
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    const object = createAnthropic({ apiKey: 'k', baseURL: server.url })('claude-a');
    const model = await createModel(object, { contextWindow: 1000, maxOutput: 50 });
    expect(model).toMatchObject({
      id: 'claude-a',
      provider: 'anthropic',
      api: 'anthropic-messages',
      target: { family: 'anthropic', provider: 'anthropic', model: 'claude-a' },
      contextWindow: 1000,
      maxOutput: 50,
    });
    const { finish } = await run(model, { ...asking('hi'), tools: [READ_FILE] });
    expect(finish?.stopReason).toBe('toolUse');
    expect(server.requests[0]?.body['max_tokens']).toBe(50);
  });

  test('refuses a model object of another specification', async () => {
    const old = { specificationVersion: 'v1', provider: 'x', modelId: 'y' };
    await expect(createModel(old as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });
});
