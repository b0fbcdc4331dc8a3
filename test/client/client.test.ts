import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createClient, type StreamEvent } from '../../src/client/index.ts';
import { scripted } from '../support/engine/engine.ts';
import { pacedModel } from '../support/engine/paced-model.ts';
import { freePort } from '../support/server/free-port.ts';
import { gate, openServer, TOKEN, textOf } from '../support/server/server.ts';

const QUICK = { token: TOKEN, backoffMs: 1, retries: 5 };

/** The global fetch, which fails or breaks off as the test says. */
function faulty(plan: (count: number) => 'lose-request' | 'lose-answer' | number | undefined): {
  fetch: typeof fetch;
  calls: { method: string; key: string | null; lastEventId: string | null }[];
} {
  const calls: { method: string; key: string | null; lastEventId: string | null }[] = [];
  return {
    calls,
    fetch: async (url, init) => {
      const headers = new Headers(init?.headers);
      calls.push({
        method: init?.method ?? 'GET',
        key: headers.get('idempotency-key'),
        lastEventId: headers.get('last-event-id'),
      });
      const fault = plan(calls.length);
      if (fault === 'lose-request') throw new TypeError('fetch failed');
      const response = await fetch(url, init);
      if (fault === 'lose-answer') {
        await response.body?.cancel();
        throw new TypeError('fetch failed');
      }
      return typeof fault === 'number' ? new Response(cutBehind(response.body, fault), response) : response;
    },
  };
}

/** The first bytes, then a broken connection: in the middle of a frame, most likely. */
function cutBehind(body: ReadableStream<Uint8Array> | null, count: number): ReadableStream<Uint8Array> {
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  let left = count;
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      if (value.length < left) {
        left -= value.length;
        return controller.enqueue(value);
      }
      controller.enqueue(value.subarray(0, left));
      await reader.cancel();
      controller.error(new TypeError('terminated'));
    },
    cancel: () => reader.cancel(),
  });
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the client', () => {
  test('S6 receives an answer of 2,000 deltas exactly once over connections that break every 2,000 bytes', async () => {
    const texts = Array.from({ length: 2000 }, (_, i) => `${i}:é漢🙂\r\n `);
    const paced = pacedModel(texts);
    await using at = await openServer(paced);
    // Slow enough that there is always something to be cut in the middle, and something left to come.
    const { fetch: broken, calls } = faulty((count) => {
      paced.allow(count < 45 ? 40 : 2000);
      return count < 45 ? 2000 + count : undefined;
    });
    const client = createClient({ ...QUICK, url: at.url, fetch: broken });
    const events: StreamEvent[] = [];
    for await (const event of client.chat('main', { message: 'go' })) events.push(event);
    expect(textOf(events)).toBe(texts.join(''));
    expect(events.filter(({ type }) => type === 'done')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'session')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'interrupted')).toEqual([]);
    expect(calls.length).toBeGreaterThan(20);
    // Sent once: after the first frame it only listens.
    expect(calls.filter(({ method }) => method === 'POST')).toHaveLength(1);
    expect(new Set(calls.slice(1).map(({ lastEventId }) => lastEventId)).size).toBeGreaterThan(20);
  });

  test('T59 a message whose answer was lost is sent again with the same key, and is one message', async () => {
    const model = scripted(['once']);
    await using at = await openServer(model);
    const { fetch: broken, calls } = faulty((count) =>
      count <= 2 ? (count === 1 ? 'lose-request' : 'lose-answer') : undefined,
    );
    const client = createClient({ ...QUICK, url: at.url, fetch: broken });
    const events: StreamEvent[] = [];
    for await (const event of client.chat('main', { message: 'go', sessionId: 's' })) events.push(event);
    expect(textOf(events)).toBe('once');
    expect(calls).toHaveLength(3);
    expect(new Set(calls.map(({ key }) => key)).size).toBe(1);
    expect(model.requests).toHaveLength(1);
    const { data } = await client.session('s').history();
    expect(data.filter(({ role }) => role === 'user')).toHaveLength(1);
  });

  test('gives up with CONNECT_FAILED if no server answers, and with the code of a refusal', async () => {
    // One that no other test is given meanwhile.
    const url = `http://127.0.0.1:${await freePort()}`;
    const client = createClient({ ...QUICK, url, retries: 2 });
    await expect(client.sessions()).rejects.toMatchObject({ code: 'CONNECT_FAILED' });
    const stream = client.chat('main', { message: 'hi' });
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'CONNECT_FAILED' });
    await using at = await openServer(scripted([]));
    const stranger = createClient({ ...QUICK, url: at.url, token: 'wrong' });
    await expect(stranger.sessions()).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    const known = createClient({ ...QUICK, url: at.url });
    await expect(known.session('nobody').history()).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
    await expect(known.inbox('nothing')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('does not retry forever with a server that only ever sends the first event', async () => {
    let count = 0;
    const server = createServer((_, response: ServerResponse) => {
      count++;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('id: 1.0\ndata: {"type":"session","sessionId":"s","sessionKey":"k","inboxId":"i"}\n\n');
    });
    const client = createClient({ ...QUICK, url: await listening(server), retries: 3 });
    const read = async (): Promise<void> => {
      for await (const _ of client.chat('main', { message: 'hi' }));
    };
    await expect(read()).rejects.toMatchObject({ code: 'CONNECT_FAILED' });
    expect(count).toBe(4);
    server.close();
  });

  test('disconnects from a silent server, and the stream resumes', async () => {
    let count = 0;
    const session = 'id: 1.0\ndata: {"type":"session","sessionId":"s","sessionKey":"k","inboxId":"i"}\n\n';
    const done =
      'id: 2.0\ndata: {"type":"done","sessionId":"s","turnId":"t","text":"x","tokenEstimate":1}\n\n';
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(session);
      if (++count > 1) response.end(done);
    });
    // So often it may be this process that was silent.
    const client = createClient({ ...QUICK, retries: 50, url: await listening(server), silenceMs: 50 });
    const types: string[] = [];
    for await (const { type } of client.chat('main', { message: 'hi' })) types.push(type);
    expect(types).toEqual(['session', 'done']);
    server.closeAllConnections();
    server.close();
  });

  test('stops listening on request, and the turn continues', async () => {
    const { opened, open } = gate();
    await using at = await openServer(scripted([{ wait: opened, text: 'later' }]));
    const client = createClient({ ...QUICK, url: at.url });
    const stop = new AbortController();
    const read = async (): Promise<void> => {
      for await (const { type } of client.chat(
        'main',
        { message: 'hi', sessionId: 's' },
        { signal: stop.signal },
      ))
        if (type === 'turn_start') stop.abort(new Error('enough'));
    };
    await expect(read()).rejects.toThrow('enough');
    expect(await client.session('s').status()).toMatchObject({ status: 'generating' });
    open();
    const rest: StreamEvent[] = [];
    for await (const event of client.session('s').stream()) rest.push(event);
    expect(rest.at(-1)?.type).toMatch(/done|idle/);
    await at.reprise.idle();
    expect(await client.session('s').status()).toMatchObject({ status: 'idle' });
  });

  test('has a call for every other route', async () => {
    await using at = await openServer(scripted(['one', 'two']));
    const client = createClient({ ...QUICK, url: at.url });
    const first = await client.inbound({ text: 'find me', channel: 'telegram', peer: '7' }, { wait: 30 });
    expect(first).toMatchObject({ status: 'done', fresh: true, reply: { text: 'one' } });
    const { inboxId, sessionId } = first;
    expect(await client.inbox(inboxId)).toMatchObject({ status: 'done', sessionId });
    const events: string[] = [];
    for await (const { type } of client.inboundEvents({ text: 'more', channel: 'telegram', peer: '7' }))
      events.push(type);
    expect(events.at(-1)).toBe('done');
    const session = client.session(sessionId);
    const { etag } = await session.get();
    const { session: patched } = await session.patch({ title: 'Named' }, { ifMatch: etag });
    expect(patched.title).toBe('Named');
    await expect(session.patch({ title: 'Late' }, { ifMatch: etag })).rejects.toMatchObject({
      code: 'PRECONDITION_FAILED',
    });
    expect((await client.sessions({ agentId: 'main' })).data.map(({ id }) => id)).toContain(sessionId);
    // A busy server says when it had no time to look at everything.
    const found = async (): Promise<unknown> => (await client.search({ q: 'find me' })).data[0];
    await expect.poll(found).toMatchObject({ sessionId, agentId: 'main' });
    expect((await client.sessions({ sort: 'messages', order: 'asc' })).data.map(({ id }) => id)).toContain(
      sessionId,
    );
    await expect.poll(() => client.usage()).toMatchObject({ complete: true, agents: [{ agentId: 'main' }] });
    expect((await client.conversations()).data[0]).toMatchObject({ channelType: 'telegram', channelId: '7' });
    const lines = await client.conversation('main', '7', { channelType: 'telegram' });
    expect(lines.data.map(({ content }) => content)).toEqual(['find me', 'one', 'more', 'two']);
    expect((await session.context()).tokens).toBeGreaterThan(0);
    expect((await session.totals()).turns).toBe(2);
    expect((await session.tree()).data.length).toBeGreaterThan(3);
    const { data } = await session.history();
    const said = data.find(({ role }) => role === 'user');
    expect((await session.pin(said?.id ?? '')).pins).toHaveLength(1);
    expect((await session.pins()).pins).toHaveLength(1);
    expect((await session.unpin(said?.id ?? '')).pins).toHaveLength(0);
    expect((await session.compact({ dryRun: true })).preview).toBeDefined();
    expect((await session.fork()).session.parentId).toBe(sessionId);
    expect((await session.undo()).undone).toBe('turn');
    expect((await session.redo()).redone).toBe('turn');
    expect((await session.command('/status')).name).toBe('status');
    expect((await session.stop()).stopped).toBe(false);
    expect((await client.agents()).data.map(({ id }) => id)).toEqual(['main']);
    expect((await client.commands()).data.length).toBeGreaterThan(5);
    expect(await client.stats()).toMatchObject({ sessions: 2 });
    expect(await client.ready()).toMatchObject({ status: 'ready' });
    expect((await session.delete()).session.status).toBe('deleted');
    expect((await session.restore()).session.status).toBe('open');
  });
});
