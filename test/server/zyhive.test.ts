import { describe, expect, test } from 'vitest';
import type { Tool } from '../../src/engine/tools/tool.ts';
import { zyhiveEventSchema, zyhiveHistorySchema, zyhiveListSchema } from '../../src/protocol/zyhive.ts';
import type { JsonObject } from '../../src/transcript/json.ts';
import { scripted } from '../support/engine/engine.ts';
import { pngBase64 } from '../support/engine/images.ts';
import { type Answer, startServer, type TestServer, talk } from '../support/server/http.ts';

const AT = 1_708_300_000_000;
const CHAT = '/api/agents/main/chat';

function zyhiveServer(clock: () => Date = () => new Date(AT)): Promise<TestServer> {
  return startServer({}, { profile: 'zyhive', clock });
}

function eventsOf({ text }: Answer): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)) as Record<string, unknown>);
}

function doneOf(answer: Answer): Record<string, unknown> {
  return eventsOf(answer).find(({ type }) => type === 'done') ?? {};
}

describe('chat ids under profile zyhive', () => {
  test('a new chat is called ses-<time>, and two that begin in the same millisecond have different ids', async () => {
    await using server = await zyhiveServer();
    const begin = (message: string): Promise<Answer> =>
      server.ask(CHAT, { method: 'POST', body: { message } });
    const ids = (await Promise.all([begin('one'), begin('two'), begin('three')])).map(
      (answer) => doneOf(answer)['sessionId'],
    );
    expect(ids.toSorted()).toEqual([`ses-${AT}`, `ses-${AT + 1}`, `ses-${AT + 2}`]);
  });

  test('a retry with the same Idempotency-Key finds the session of the first try, at any later time', async () => {
    let now = AT;
    await using server = await zyhiveServer(() => new Date(now));
    const send = (key: string): Promise<Answer> =>
      server.ask(CHAT, { method: 'POST', body: { message: 'hi' }, headers: { 'Idempotency-Key': key } });
    const [first, atOnce] = await Promise.all([send('k1'), send('k1')]);
    now += 60_000;
    const later = await send('k1');
    const other = await send('k2');
    expect([first, atOnce, later].map((answer) => doneOf(answer)['sessionId'])).toEqual(
      Array(3).fill(`ses-${AT}`),
    );
    expect(doneOf(other)['sessionId']).toBe(`ses-${now}`);
    const { messageCount } = await server.reprise.store.get(`ses-${AT}`);
    expect(messageCount).toBe(2);
  });

  test('an agent with another profile has ids of that profile', async () => {
    await using server = await startServer({}, { agents: { xiuliu: { profile: 'zyhive' } } });
    const idIn = async (agent: string): Promise<unknown> =>
      doneOf(await server.ask(`/api/agents/${agent}/chat`, { method: 'POST', body: { message: 'hi' } }))[
        'sessionId'
      ];
    expect(await idIn('xiuliu')).toMatch(/^ses-\d{13}$/);
    expect(await idIn('main')).not.toMatch(/^ses-/);
  });
});

describe('a chat request of ZyHive', () => {
  const IMAGE = `data:image/png;base64,${pngBase64(2, 2)}`;

  test('its `context` and `images` reach the model with the message, and are in the history', async () => {
    const model = scripted(['It adds.', 'Yes.']);
    await using server = await startServer({}, { profile: 'zyhive', model });
    const body = { message: '帮我看看这段代码', context: 'def add(a, b): return a + b', images: [IMAGE] };
    const sessionId = doneOf(await server.ask(CHAT, { method: 'POST', body }))['sessionId'];
    const { messages = [] } = model.requests[0] ?? {};
    expect(JSON.stringify(messages)).toContain('def add(a, b): return a + b');
    expect(messages.at(-1)).toMatchObject({
      role: 'user',
      content: expect.arrayContaining([
        expect.objectContaining({ type: 'text', text: expect.stringContaining('帮我看看这段代码') }),
        expect.objectContaining({ type: 'image', mimeType: 'image/png', data: pngBase64(2, 2) }),
      ]),
    });
    const { json } = await server.ask(`/api/agents/main/sessions/${sessionId}`);
    const shown = json['messages'] as readonly { readonly role: string; readonly text: string }[];
    expect(shown.filter(({ role }) => role === 'user')).toMatchObject([{ text: '帮我看看这段代码' }]);

    // Empty ones add nothing.
    const empty = { message: '谢谢', sessionId, context: '', images: [] };
    await server.ask(CHAT, { method: 'POST', body: empty });
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ content: [{ type: 'text', text: '谢谢' }] });
  });
});

describe('answers in the shape of ZyHive', () => {
  const tool: Tool = {
    name: 'weather',
    description: 'The weather in a city.',
    inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
    run: () => 'sunny',
  };
  const withTools = (): Promise<TestServer> =>
    startServer(
      {},
      {
        profile: 'zyhive',
        tools: [tool],
        model: scripted([
          { calls: [{ id: 'c1', name: 'weather', input: { city: 'Rome' } }] },
          { text: 'Sunny in Rome.', calls: [{ id: 'c1', name: 'weather', input: { city: 'Oslo' } }] },
          'Sunny everywhere.',
        ]),
      },
    );

  test('a stream has the events of ZyHive and no others', async () => {
    await using server = await withTools();
    const answer = await server.ask(CHAT, { method: 'POST', body: { message: 'how is it?' } });
    const events = eventsOf(answer);
    for (const event of events) expect(zyhiveEventSchema.parse(event)).toEqual(event);
    expect(events.filter(({ type }) => type !== 'text_delta' && type !== 'usage')).toEqual([
      { type: 'tool_call', tool_call: { id: 'c1', name: 'weather', input: { city: 'Rome' } } },
      { type: 'tool_result', tool_call_id: 'c1', text: 'sunny' },
      { type: 'tool_call', tool_call: { id: 'c1', name: 'weather', input: { city: 'Oslo' } } },
      { type: 'tool_result', tool_call_id: 'c1', text: 'sunny' },
      { type: 'done', sessionId: expect.stringMatching(/^ses-/), tokenEstimate: expect.any(Number) },
    ]);
  });

  test('a stored model that is not available has no event there: another one answers', async () => {
    await using server = await startServer({}, { profile: 'zyhive', model: scripted(['你好！']) });
    const { store } = server.reprise;
    await store.create({ id: 'old', key: 'agent:main:session:old', settings: { model: 'mock-1' } });
    const answer = await server.ask(CHAT, { method: 'POST', body: { message: '你好', sessionId: 'old' } });
    const events = eventsOf(answer);
    expect(events.map(({ type }) => type)).toEqual(['text_delta', 'usage', 'done']);
    expect(events[0]).toEqual({ type: 'text_delta', text: '你好！' });
  });

  test('a history shows calls with their results beside the text that followed them', async () => {
    await using server = await withTools();
    const id = String(
      doneOf(await server.ask(CHAT, { method: 'POST', body: { message: 'hi' } }))['sessionId'],
    );
    for (const path of [`/api/agents/main/sessions/${id}`, `/api/sessions/main/${id}`]) {
      const { json } = await server.ask(path);
      expect(zyhiveHistorySchema.parse(json)).toEqual(json);
      expect(json).toMatchObject({ session: { id, messageCount: 4 }, agent: { id: 'main', name: 'main' } });
      const call = (city: string): object => ({
        id: 'c1',
        name: 'weather',
        input: JSON.stringify({ city }),
        result: 'sunny',
      });
      expect(json['messages']).toMatchObject([
        { role: 'user', text: 'hi' },
        { role: 'assistant', text: 'Sunny in Rome.', toolCalls: [call('Rome'), call('Oslo')] },
        { role: 'assistant', text: 'Sunny everywhere.' },
      ]);
    }
  });

  test('a summary of older messages is one message that says so, and the originals stay', async () => {
    await using server = await startServer(
      {},
      {
        profile: 'zyhive',
        compaction: { background: false, cut: { kind: 'keep-turns', turns: 1 } },
      },
    );
    const texts = ['one', 'two', 'three', 'four'].map((text) => `${text} ${'and so on '.repeat(200)}`);
    const id = await talk(server.reprise, texts);
    expect(await (await server.reprise.session({ id })).compact()).not.toBeNull();
    const { json } = await server.ask(`/api/agents/main/sessions/${id}`);
    const messages = json['messages'] as { role: string; isCompact?: boolean }[];
    expect(messages.filter(({ role }) => role === 'user')).toHaveLength(4);
    expect(messages.filter(({ isCompact }) => isCompact === true)).toMatchObject([{ role: 'compaction' }]);
  });

  test('lists are whole without a limit, and have no more than a limit that is given', async () => {
    let now = AT;
    await using server = await zyhiveServer(() => new Date(now++));
    for (let i = 0; i < 55; i++) await server.reprise.session(`agent:main:direct:p${i}`);
    const all = (await server.ask('/api/agents/main/sessions')).json as unknown as { id: string }[];
    expect(new Set(all.map(({ id }) => id)).size).toBe(55);
    expect((await server.ask('/api/agents/main/sessions?limit=2')).json).toHaveLength(2);
    const { json } = await server.ask('/api/sessions?agentId=main&limit=20');
    expect(zyhiveListSchema.parse(json)).toEqual(json);
    expect(json).toMatchObject({
      total: 20,
      sessions: all.slice(0, 20).map((one) => ({ ...one, agentName: 'main' })),
    });
    expect((await server.ask('/api/sessions?agentId=other')).json).toEqual({ sessions: [], total: 0 });
  });

  test('fields that a front end of ZyHive also sends are taken, and refused by agents of other profiles', async () => {
    await using server = await startServer({}, { agents: { xiuliu: { profile: 'zyhive' } } });
    const body = { message: 'hi', scenario: 'general', history: [{ role: 'user', content: 'hi' }] };
    const taken = await server.ask('/api/agents/xiuliu/chat', { method: 'POST', body });
    expect(doneOf(taken)['sessionId']).toMatch(/^ses-/);
    const refused = await server.ask(CHAT, { method: 'POST', body });
    expect(refused).toMatchObject({
      status: 400,
      json: { code: 'INVALID_INPUT', details: { field: 'scenario' } },
    });
    expect((await server.ask('/api/agents/main/sessions')).json.data).toEqual([]);
  });

  test("a request that accepts Reprise's own type gets Reprise's shape from every agent", async () => {
    await using server = await zyhiveServer();
    const own = { Accept: 'application/vnd.reprise+json' };
    const stream = await server.ask(CHAT, {
      method: 'POST',
      body: { message: 'hi' },
      headers: { Accept: `text/event-stream, ${own.Accept}` },
    });
    expect(stream.headers['content-type']).toMatch(/^text\/event-stream/);
    expect(eventsOf(stream)[0]).toMatchObject({ type: 'session', sessionId: `ses-${AT}` });
    const one = `/api/agents/main/sessions/ses-${AT}`;
    for (const [ask, json] of [
      [{ path: '/api/sessions' }, { data: [{ id: `ses-${AT}` }] }],
      [{ path: '/api/agents/main/sessions' }, { data: [{ id: `ses-${AT}` }] }],
      [{ path: one }, { session: { id: `ses-${AT}` }, data: [{ role: 'user' }, { role: 'assistant' }] }],
      [{ path: one, method: 'PATCH', body: { title: 'x' } }, { session: { title: 'x' } }],
      [{ path: one, method: 'DELETE' }, { session: { status: 'deleted' } }],
    ] as const) {
      const { path, ...rest } = ask;
      const answer = await server.ask(path, { ...rest, headers: own });
      expect(answer).toMatchObject({ status: 200, json });
      expect(answer.headers).toMatchObject({ 'content-type': own.Accept, vary: 'Accept' });
    }
  });

  test('an error is sent in `error`, as front ends of ZyHive read it', async () => {
    await using server = await zyhiveServer();
    const { status, json } = await server.ask(CHAT, { method: 'POST', body: { text: 'hi' } });
    expect({ status, error: json.error }).toEqual({ status: 400, error: expect.stringContaining('message') });
    const gone = await server.ask('/api/agents/main/chat/stream?sessionId=ses-1');
    expect(gone.status).toBe(404);
  });

  test('the OpenAPI document describes both shapes of each of these operations', async () => {
    await using server = await startServer();
    const { paths } = (await server.ask('/openapi.json')).json as unknown as {
      paths: Record<
        string,
        Record<string, { responses: Record<string, { content: Record<string, { schema: JsonObject }> }> }>
      >;
    };
    const sessions = '/api/agents/{agentId}/sessions';
    for (const [path, method] of [
      [sessions, 'get'],
      ['/api/sessions', 'get'],
      [`${sessions}/{sessionId}`, 'get'],
      [`${sessions}/{sessionId}`, 'patch'],
      [`${sessions}/{sessionId}`, 'delete'],
    ] as const) {
      const content = paths[path]?.[method]?.responses['200']?.content ?? {};
      expect(Object.keys(content)).toEqual(['application/json', 'application/vnd.reprise+json']);
      const own = content['application/vnd.reprise+json']?.schema;
      expect(content['application/json']?.schema['anyOf']).toEqual([own, expect.anything()]);
    }
    const stream = paths['/api/agents/{agentId}/chat']?.['post']?.responses['200']?.content;
    const done = (fields: readonly string[]): object =>
      expect.objectContaining({ required: ['type', 'sessionId', ...fields] });
    expect(stream?.['text/event-stream']?.schema['anyOf']).toEqual(
      expect.arrayContaining([done(['tokenEstimate']), done(['turnId', 'text', 'usage', 'tokenEstimate'])]),
    );
  });
});
