import { describe, expect, test } from 'vitest';
import type { Tool } from '../../../src/engine/tools/tool.ts';
import { RepriseError } from '../../../src/errors.ts';
import { createScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { streamEventSchema } from '../../../src/protocol/events.ts';
import { scripted } from '../../support/engine/engine.ts';
import { allEvents, allFrames, frames, gate, openServer, textOf } from '../../support/server/server.ts';

const echo: Tool = {
  name: 'echo',
  description: 'Says it again.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  safe: true,
  run: async ({ text }) => `echo: ${String(text)}`,
};

describe('a chat over HTTP', () => {
  test('S6 sends the session first, then the turn, and ends once with the same session', async () => {
    await using at = await openServer(scripted([{ text: ['Hel', 'lo.'] }]));
    const told = await allFrames(at.chat({ message: 'hi' }));
    const events = told.map(({ event }) => event);
    expect(events.map(({ type }) => type)).toEqual([
      'session',
      'turn_start',
      'text_delta',
      'text_delta',
      'usage',
      'done',
    ]);
    const [first] = events;
    const last = events.at(-1);
    expect(first).toMatchObject({ sessionKey: expect.stringMatching(/^agent:main:session:chat-/) });
    expect(last).toMatchObject({ text: 'Hello.', sessionId: first?.type === 'session' && first.sessionId });
    expect(last?.type === 'done' && last.tokenEstimate).toBeGreaterThan(0);
    for (const event of events) expect(streamEventSchema.safeParse(event).error).toBeUndefined();
    const places = told.map(({ id }) => id.split('.').map(Number) as [number, number]);
    for (const [i, [seq, n]] of places.entries()) {
      const [seqBefore, nBefore] = places[i - 1] ?? [0, -1];
      expect(seq > seqBefore || (seq === seqBefore && n > nBefore)).toBe(true);
    }
  });

  test('a stored model that is not available is a notice in the stream, not an error', async () => {
    await using at = await openServer(scripted(['Hello.']));
    const settings = { model: 'mock-1' };
    await at.reprise.store.create({ id: 'old', key: 'agent:main:session:old', settings });
    const events = await allEvents(at.chat({ message: 'hi', sessionId: 'old' }));
    expect(events.map(({ type }) => type)).toEqual([
      ...['session', 'turn_start', 'model_fallback', 'text_delta', 'usage', 'done'],
    ]);
    expect(events[2]).toMatchObject({
      ...{
        type: 'model_fallback',
        wanted: 'mock-1',
        model: 'scripted',
        reason: 'the model mock-1 is not configured',
      },
    });
    for (const event of events) expect(streamEventSchema.safeParse(event).error).toBeUndefined();
  });

  test('sends tool calls, each call of the model, and the answer after them', async () => {
    const calls = [{ name: 'echo', input: { text: 'x' } }];
    const usage = { input: 10, output: 5, cacheRead: 100, cacheWrite: 7, totalTokens: 122 };
    await using at = await openServer(scripted([{ text: 'let me see', calls, usage }, 'there']), {
      tools: [echo],
    });
    const events = await allEvents(at.chat({ message: 'hi' }));
    expect(events).toContainEqual({ type: 'tool_call', id: 'call_0_0', name: 'echo', input: { text: 'x' } });
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'tool_result',
        toolCallId: 'call_0_0',
        text: 'echo: x',
        isError: false,
      }),
    );
    const usages = events.filter((event) => event.type === 'usage');
    expect(usages).toHaveLength(2);
    expect(usages[0]).toMatchObject({ inputTokens: 117, outputTokens: 5 });
    expect(textOf(events)).toBe('let me seethere');
  });

  test('S6 exactly one terminal event, whatever the runner does', async () => {
    const thrower = createScriptedModel([{ text: ['par', 'tial'], error: new TypeError('a bug') }]);
    await using at = await openServer(thrower);
    const events = await allEvents(at.chat({ message: 'hi' }));
    const ends = events.filter(({ type }) => type === 'done' || type === 'error');
    expect(ends).toEqual([
      expect.objectContaining({
        type: 'error',
        code: 'MODEL_FAILED',
        error: expect.stringContaining('a bug'),
      }),
    ]);
    expect(events.at(-1)).toBe(ends[0]);
  });

  test('S6 continues when its client is gone, and keeps the answer', async () => {
    const { opened, open } = gate();
    await using at = await openServer(scripted([{ wait: opened, text: 'kept' }]));
    const client = new AbortController();
    const response = await at.request('/api/agents/main/chat', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ message: 'hi', sessionId: 's1' }),
      signal: client.signal,
    });
    for await (const { event } of frames(response)) if (event.type === 'turn_start') break;
    client.abort();
    open();
    await at.reprise.idle();
    const { entries } = await at.reprise.store.read('s1');
    expect(JSON.stringify(entries)).toContain('kept');
  });

  test('makes an unknown session under its id, and refuses a key of another agent', async () => {
    await using at = await openServer(scripted(['one', 'two']));
    const [first] = await allEvents(at.chat({ message: 'hi', sessionId: 'my-own.1' }));
    expect(first).toMatchObject({ sessionId: 'my-own.1', sessionKey: 'agent:main:session:my-own.1' });
    const [again] = await allEvents(at.chat({ message: 'more', sessionId: 'my-own.1' }));
    expect(again).toMatchObject({ sessionId: 'my-own.1' });
    const refused = await at.chat({ message: 'hi', sessionKey: 'agent:other:main' });
    expect(refused.status).toBe(400);
    const both = await at.chat({ message: 'hi', sessionId: 'new-one', sessionKey: 'agent:other:main' });
    expect(both.status).toBe(400);
    const unknown = await at.chat({ message: 'hi', agentId: 'x' });
    expect(unknown.status).toBe(400);
    expect(((await unknown.json()) as { error: string }).error).toContain('agentId');
  });

  test('`sessionKey` names the session, and its agent answers with its own settings', async () => {
    const agents = { main: { systemPrompt: 'I am main.' }, helper: { systemPrompt: 'I am the helper.' } };
    const model = scripted(['one', 'two', 'three']);
    await using at = await openServer(model, { agents });
    const child = 'agent:main:subagent:5f0c1f7e-4a49-4a1c-9f7e-0a6b9b1c2d3e';
    const ask = async (message: string, sessionKey: string): Promise<unknown> => {
      const [first] = await allEvents(at.chat({ message, sessionKey }));
      return first;
    };
    expect(await ask('hi', child)).toMatchObject({ type: 'session', sessionKey: child });
    expect(await ask('hello', 'agent:main:main')).toMatchObject({ sessionKey: 'agent:main:main' });
    const sent = model.requests.map(({ system, messages }) => [system, messages.length]);
    expect(sent).toEqual([
      ['I am main.', 1],
      ['I am main.', 1],
    ]);
    const other = await at.request('/api/agents/helper/chat', {
      method: 'POST',
      body: JSON.stringify({ message: 'hi', sessionKey: 'agent:helper:main' }),
      headers: { 'content-type': 'application/json' },
    });
    expect((await allEvents(Promise.resolve(other)))[0]).toMatchObject({ sessionKey: 'agent:helper:main' });
    expect(model.requests.at(-1)?.system).toBe('I am the helper.');
  });

  test('T59 the same key joins or replays, and another body is refused', async () => {
    const { opened, open } = gate();
    const model = scripted([{ wait: opened, text: ['on', 'ce'] }]);
    await using at = await openServer(model);
    const key = { 'idempotency-key': 'k-1' };
    const first = await at.chat({ message: 'hi' }, key);
    expect(first.headers.get('idempotency-key')).toBe('k-1');
    const second = await at.chat({ message: 'hi' }, key);
    const other = await at.chat({ message: 'something else' }, key);
    expect(other.status).toBe(422);
    expect(await other.json()).toMatchObject({ code: 'KEY_REUSED' });
    open();
    const [one, two] = await Promise.all([allFrames(first), allFrames(second)]);
    const three = await allFrames(at.chat({ message: 'hi' }, key));
    // The first frame says where the client is, not what happened.
    for (const told of [two, three]) {
      expect(told[0]?.event).toEqual(one[0]?.event);
      expect(told.slice(1)).toEqual(one.slice(1));
    }
    expect(model.requests).toHaveLength(1);
  });

  test('a busy session queues, or answers 409 where that was asked', async () => {
    const { opened, open } = gate();
    await using at = await openServer(scripted([{ wait: opened, text: 'one' }, 'two']), {
      session: { queue: { mode: 'followup' } },
    });
    const first = await at.chat({ message: 'a', sessionId: 's' });
    const second = await at.chat({ message: 'b', sessionId: 's' });
    const refused = await at.chat({ message: 'c', sessionId: 's', queue: 'reject' });
    expect(refused.status).toBe(409);
    const status = await at.request('/api/agents/main/chat/status?sessionId=s');
    expect(await status.json()).toMatchObject({ status: 'generating', queued: 1 });
    open();
    expect(textOf(await allEvents(first))).toBe('one');
    const events = await allEvents(second);
    expect(events.map(({ type }) => type).slice(0, 3)).toEqual(['session', 'queued', 'turn_start']);
    expect(textOf(events)).toBe('two');
    const after = await at.request('/api/agents/main/chat/status?sessionId=s');
    expect(await after.json()).toEqual({ status: 'idle', sessionId: 's', queued: 0 });
  });

  test('a message that joins a running turn hears it from there, with one end', async () => {
    const { opened, open } = gate();
    const calls = [{ name: 'slow' }];
    const slow: Tool = { ...echo, name: 'slow', run: () => opened.then(() => 'done') };
    await using at = await openServer(scripted([{ text: 'before', calls }, 'after']), { tools: [slow] });
    const first = await at.chat({ message: 'a', sessionId: 's' });
    const seen = frames(first);
    for await (const { event } of seen) if (event.type === 'tool_call') break;
    const second = await at.chat({ message: 'b', sessionId: 's' });
    open();
    const events = await allEvents(second);
    expect(events.filter(({ type }) => type === 'turn_start')).toHaveLength(1);
    expect(textOf(events)).toBe('after');
    expect(events.at(-1)).toMatchObject({ type: 'done', text: 'after' });
  });

  test('stop ends the turn and keeps the received text', async () => {
    const { opened } = gate();
    const model = createScriptedModel([{ text: ['half ', 'an answer'], error: undefined as never }]);
    const stream = model.stream.bind(model);
    model.stream = async function* (request, options) {
      for await (const event of stream(request, options)) {
        yield event;
        if (event.type === 'text_delta') await opened;
      }
    };
    await using at = await openServer(model);
    const response = await at.chat({ message: 'hi', sessionId: 's' });
    const told = frames(response);
    const events = [];
    for await (const { event } of told) {
      events.push(event);
      if (event.type !== 'text_delta') continue;
      const stopped = await at.request('/api/agents/main/chat/stop', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ sessionId: 's' }),
      });
      expect(await stopped.json()).toEqual({ stopped: true, cancelled: 0, children: 0 });
    }
    expect(events.at(-1)).toMatchObject({ type: 'error', code: 'ABORTED' });
    expect(JSON.stringify((await at.reprise.store.read('s')).entries)).toContain('half ');
  });

  test('T81 T62 names, ids and texts of any kind arrive as they are, one frame each', async () => {
    const odd = 'a\nb\r\n\rdata: x\n\nid: 9\nevent: y\nretry: 1\0\u2028\u0085\ufeff🙂\ud800';
    const tool: Tool = { ...echo, name: 'odd', run: async () => odd };
    const calls = [{ id: 'call\ndata: 1', name: 'odd', input: { [odd]: odd } }];
    const script = createScriptedModel([{ thinking: { text: odd }, text: odd, calls }, { text: [odd, odd] }]);
    await using at = await openServer(script, { tools: [tool] });
    const told = await allEvents(at.chat({ message: odd, sessionId: 's' }));
    const texts = told.flatMap((event) => (event.type === 'text_delta' ? [event.text] : []));
    expect(texts).toEqual([odd, odd, odd]);
    expect(told).toContainEqual({ type: 'thinking_delta', text: odd });
    expect(told).toContainEqual({
      type: 'tool_call',
      id: 'call\ndata: 1',
      name: 'odd',
      input: { [odd]: odd },
    });
    expect(told).toContainEqual(
      expect.objectContaining({ type: 'tool_result', toolCallId: 'call\ndata: 1', text: odd }),
    );
    const stored = await allEvents(
      at.request('/api/agents/main/chat/stream?sessionId=s', { headers: { 'last-event-id': '2.0' } }),
    );
    expect(
      stored.filter(({ type }) => type.endsWith('_delta')).map((event) => 'text' in event && event.text),
    ).toEqual([odd, odd, odd + odd]);
  });

  test('T87 a failure that repeats a secret is reported without it, on every route; what is stored stays', async () => {
    const key = 'sk-ant-api03-0123456789abcdef';
    const error = new RepriseError('MODEL_AUTH', `the key ${key} is wrong`, {
      details: { header: `Authorization: Bearer ${key}`, model: 'm' },
    });
    await using at = await openServer(createScriptedModel([{ error }]));
    const told = await allEvents(at.chat({ message: 'go', sessionId: 's' }));
    expect(told.at(-1)).toMatchObject({
      type: 'error',
      code: 'MODEL_AUTH',
      error: expect.stringContaining('*** is wrong'),
      details: { model: 'm' },
    });
    const { inboxId } = told[0] as { inboxId: string };
    const asked = await (await at.request(`/api/inbox/${inboxId}`)).text();
    expect(asked).toContain('*** is wrong');
    const again = await allEvents(
      at.request('/api/agents/main/chat/stream?sessionId=s', { headers: { 'last-event-id': '2.0' } }),
    );
    expect(again.some(({ type }) => type === 'error')).toBe(true);
    const history = await (await at.request('/api/agents/main/sessions/s?marks=true')).text();
    expect(history).toContain('*** is wrong');
    expect(JSON.stringify([told, asked, again, history])).not.toContain('0123456789abcdef');
    const stored = JSON.stringify((await at.reprise.store.read('s')).entries);
    expect(stored).toContain(key);
  });

  test('a command is answered in the stream and never reaches the model', async () => {
    const model = scripted([]);
    await using at = await openServer(model);
    const events = await allEvents(at.chat({ message: '/status' }));
    expect(events.map(({ type }) => type)).toEqual(['session', 'command', 'done']);
    expect(events[1]).toMatchObject({ name: 'status', text: expect.stringContaining('main') });
    expect(model.requests).toHaveLength(0);
  });
});
