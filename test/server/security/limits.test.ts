import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ask, raw, startServer, type TestServer, TOKEN, talk } from '../../support/server/http.ts';

const AUTH = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n`;
const statusOf = (text: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);

async function patch(server: TestServer, id: string, body: string) {
  return server.ask(`/api/agents/main/sessions/${id}`, { method: 'PATCH', body });
}

describe('bodies', () => {
  test('at the limit are read, one byte over is 413 (T64)', async () => {
    await using server = await startServer({ limits: { bodyBytes: 512 * 1024 } });
    const id = await talk(server.reprise, ['hello']);
    const frame = JSON.stringify({ 'x-note': '' }).length;
    const sized = (bytes: number): string => JSON.stringify({ 'x-note': 'a'.repeat(bytes - frame) });
    expect((await patch(server, id, sized(512 * 1024))).status).toBe(200);
    const over = await patch(server, id, sized(512 * 1024 + 1));
    expect(over).toMatchObject({ status: 413, json: { code: 'LIMIT_EXCEEDED', details: { limit: 'body' } } });
    expect((await patch(server, id, sized(16 * 1024 * 1024))).status).toBe(413);
    expect((await server.ask('/healthz')).status).toBe(200);
  });

  test('in chunks without end are cut off at the limit, and cost no more memory than that (T64)', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, ['hello']);
    // Bodies are array buffers; the resident set also holds what other test files left in this process.
    const before = process.memoryUsage().arrayBuffers;
    const chunk = Buffer.alloc(64 * 1024, 0x61);
    const framed = Buffer.concat([
      Buffer.from(`${chunk.length.toString(16)}\r\n`),
      chunk,
      Buffer.from('\r\n'),
    ]);
    const { said, sent } = await new Promise<{ said: string; sent: number }>((resolve, reject) => {
      const socket = connect(server.port, '127.0.0.1');
      let said = '';
      let sent = 0;
      const pour = (): void => {
        while (socket.writable && sent < 1024 * 1024 * 1024) {
          sent += chunk.length;
          if (!socket.write(framed)) {
            socket.once('drain', pour);
            return;
          }
        }
      };
      socket.on('connect', () => {
        socket.write(
          `PATCH /api/agents/main/sessions/${id} HTTP/1.1\r\n${AUTH}Transfer-Encoding: chunked\r\n\r\n`,
        );
        pour();
      });
      socket.on('data', (data) => {
        said += data.toString('latin1');
      });
      // Refused as too large, then cut off while it still sends.
      socket.on('error', (error) => (said === '' ? reject(error) : undefined));
      socket.on('close', () => resolve({ said, sent }));
    });
    expect(statusOf(said)).toBe(413);
    expect(sent).toBeLessThan(64 * 1024 * 1024);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
    expect((await server.ask('/healthz')).status).toBe(200);
  });

  test('that are too large are refused in an answer that arrives, even if the client reads it only after it has sent all', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, ['hello']);
    const body = Buffer.alloc(12 * 1024 * 1024, 0x61);
    const head = `PATCH /api/agents/main/sessions/${id} HTTP/1.1\r\n${AUTH}`;
    const size = body.length.toString(16);
    const framings = [
      [`${head}Content-Length: ${body.length}\r\n\r\n`, ''],
      [`${head}Transfer-Encoding: chunked\r\n\r\n${size}\r\n`, '\r\n0\r\n\r\n'],
    ] as const;
    for (const [before, after] of framings) {
      const socket = connect(server.port, '127.0.0.1');
      socket.pause();
      const request = Buffer.concat([Buffer.from(before), body, Buffer.from(after)]);
      await new Promise<void>((resolve, reject) => {
        socket.once('error', reject);
        socket.write(request, (error) => (error == null ? resolve() : reject(error)));
      });
      socket.resume();
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(statusOf(String(answer))).toBe(413);
      socket.destroy();
    }
  });

  test('that lie about their length are refused before a byte is read', async () => {
    await using server = await startServer();
    const said = await raw(
      server.port,
      `POST /api/agents/main/sessions/s/fork HTTP/1.1\r\n${AUTH}Content-Length: 1073741824\r\n\r\n`,
    );
    expect(statusOf(said)).toBe(413);
    const both = `POST /api/agents/main/sessions/s/fork HTTP/1.1\r\n${AUTH}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`;
    expect(statusOf(await raw(server.port, both))).toBe(400);
  });

  test('too deep, too wide or changed by parsing are 400 with the name of the limit (T63)', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, ['hello']);
    const cases: [string, string][] = [
      ['depth', `{"x-a":${'['.repeat(10_001)}${']'.repeat(10_001)}}`],
      ['values', `{${Array.from({ length: 60_000 }, (_, i) => `"x${i}":1`).join(',')}}`],
      ['number', '{"x-a":1e400}'],
      ['number', '{"x-a":9007199254740993}'],
      ['number', '{"x-a":[-9007199254740993]}'],
      ['duplicate', '{"x-a":1,"x-a":2}'],
      ['duplicate', '{"x-a":{"b":1,"\\u0062":2}}'],
      ['name', '{"__proto__":{"isAdmin":true}}'],
      ['name', '{"x-a":{"\\u005f_proto__":1}}'],
    ];
    for (const [limit, body] of cases)
      expect(await patch(server, id, body), body.slice(0, 60)).toMatchObject({
        status: 400,
        json: { details: { limit } },
      });
    for (const body of ['{', '{"a":}', '[1,', '"', '{"a":"\\ud800', '\ufeff{}', 'nul', '']) {
      const { status } = await patch(server, id, body);
      expect(status, JSON.stringify(body)).toBe(400);
    }
    const notUtf8 = `PATCH /api/agents/main/sessions/${id} HTTP/1.1\r\n${AUTH}Connection: close\r\nContent-Length: 4\r\n\r\n`;
    const socket = connect(server.port, '127.0.0.1');
    socket.write(Buffer.concat([Buffer.from(notUtf8), Buffer.from([0x22, 0xff, 0xfe, 0x22])]));
    const told = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    expect(statusOf(String(told))).toBe(400);
    expect((await server.ask('/healthz')).status).toBe(200);
  });

  test('cannot reach a prototype; what looks like one is data (T65)', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, ['hello']);
    const odd = { 'x-note': { constructor: { prototype: { isAdmin: true } }, toString: 'x' } };
    expect((await patch(server, id, JSON.stringify(odd))).status).toBe(200);
    const { json } = await server.ask(`/api/agents/main/sessions/${id}`);
    expect((json.session['settings'] as Record<string, unknown>)['x-note']).toEqual(odd['x-note']);
    expect((await patch(server, id, '{"constructor":{"prototype":{"isAdmin":true}}}')).status).toBe(400);
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined();
    expect(({} as Record<string, unknown>)['constructor']).toBe(Object);
  });

  test('with texts of every kind come back as they were (T62)', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, ['hello']);
    const text = 'a\u0000b\u2028c\u0085d\r\ne\ufefff😀\ud800g';
    await patch(server, id, JSON.stringify({ 'x-note': text }));
    const { json } = await server.ask(`/api/agents/main/sessions/${id}`);
    expect((json.session['settings'] as Record<string, unknown>)['x-note']).toBe(text);
  });
});

describe('connections', () => {
  test('that send their head or body too slowly are let go', async () => {
    await using server = await startServer({ limits: { headersTimeoutMs: 300, requestTimeoutMs: 600 } });
    expect(statusOf(await raw(server.port, 'GET /healthz HTTP/1.1\r\nHost: local'))).toBe(408);
    const slowBody = await raw(
      server.port,
      `PATCH /api/agents/main/sessions/s HTTP/1.1\r\n${AUTH}Content-Length: 10\r\n\r\n{`,
    );
    expect(statusOf(slowBody)).toBe(408);
    // On a busy machine an honest caller may be as slow now and then.
    await expect.poll(async () => (await server.ask('/healthz')).status).toBe(200);
  });

  test('with heads that are too large, or no HTTP at all, get an error and are closed', async () => {
    await using server = await startServer();
    const large = await raw(
      server.port,
      `GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`,
    );
    expect(statusOf(large)).toBe(431);
    expect(large).toContain('application/problem+json');
    expect(statusOf(await raw(server.port, 'hello?\r\n\r\n'))).toBe(400);
    expect(
      statusOf(
        await raw(
          server.port,
          `GET /healthz HTTP/1.1\r\n${AUTH}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
        ),
      ),
    ).toBe(400);
  });

  test('of the owner fill the limit: the next one is closed, and the others continue', async () => {
    await using server = await startServer({ limits: { connections: 2 } });
    await server.reprise.store.create({ id: 's', key: 'agent:main:session:s' });
    const agent = new Agent({ keepAlive: true });
    const path = '/api/agents/main/sessions/s/follow';
    const streams = await Promise.all([1, 2].map(() => openStream(server.port, path, agent)));
    await expect(ask(server.port, '/api/agents')).rejects.toThrow();
    expect(streams.map(({ closed }) => closed)).toEqual([false, false]);
    agent.destroy();
    await expect
      .poll(() => ask(server.port, '/healthz').catch(() => ({ status: 0 })))
      .toMatchObject({ status: 200 });
  });

  test('without a token, a thousand of them, keep the owner neither out nor waiting, and are counted', async () => {
    await using server = await startServer();
    await server.reprise.store.create({ id: 's', key: 'agent:main:session:s' });
    const agent = new Agent({ keepAlive: true });
    const stream = await openStream(server.port, '/api/agents/main/sessions/s/follow', agent);
    const idle = Array.from({ length: 1000 }, () => connect(server.port, '127.0.0.1').on('error', () => {}));
    await Promise.all(idle.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
    for (let i = 0; i < 20; i++) {
      const began = performance.now();
      expect((await server.ask('/api/agents')).status).toBe(200);
      expect(performance.now() - began).toBeLessThan(2000);
    }
    expect(stream.closed).toBe(false);
    expect(server.logs).toContainEqual({
      level: 'warn',
      fields: { dropped: 1, limit: 1000 },
      message: expect.stringContaining('server.limits.connections'),
    });
    const [, dropped] =
      /reprise_connections_dropped_total\{reason="no-token"\} (\d+)/.exec(
        (await server.ask('/metrics')).text,
      ) ?? [];
    // Those beyond the limit: the stream, and one for each request that was still open beside the idle ones.
    expect(Number(dropped)).toBeGreaterThanOrEqual(1);
    expect(idle.filter(({ destroyed }) => !destroyed).length).toBeGreaterThan(900);
    for (const socket of idle) socket.destroy();
    agent.destroy();
  });

  test('that were opened with a token that is revoked since make room for the owner', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'reprise-limits-')), 'token');
    writeFileSync(file, TOKEN);
    await using server = await startServer({ token: undefined, tokenFile: file, limits: { connections: 1 } });
    const agent = new Agent({ keepAlive: true });
    expect((await server.ask('/api/agents', { agent })).status).toBe(200);
    await expect(server.ask('/api/agents')).rejects.toThrow();
    writeFileSync(file, `${TOKEN}-2`);
    await expect
      .poll(() => server.ask('/api/agents', { token: `${TOKEN}-2` }).catch(() => ({ status: 0 })))
      .toMatchObject({ status: 200 });
    agent.destroy();
  });

  test('that never send a byte are closed when the time for a head is over', async () => {
    await using server = await startServer({ limits: { headersTimeoutMs: 200 } });
    const silent = connect(server.port, '127.0.0.1');
    silent.resume();
    await new Promise((resolve) => silent.once('close', resolve));
  });

  test('requests without a token have a limit of their own; pages, liveness and the owner have none', async () => {
    await using server = await startServer({ limits: { requestsPerMinute: 3, badTokens: 3 } });
    const wrong = { headers: { Authorization: 'Bearer a-token-that-is-wrong' } };
    for (const refused of [{}, wrong]) {
      const asked = [];
      for (let i = 0; i < 4; i++) asked.push(await server.ask('/api/agents', { token: null, ...refused }));
      expect(asked.map(({ status }) => status)).toEqual([401, 401, 401, 429]);
    }
    for (const path of ['/', '/docs', '/docs/docs.js', '/healthz'])
      for (let i = 0; i < 5; i++)
        for (const asked of [{}, wrong])
          expect((await server.ask(path, { token: null, ...asked })).status).toBe(200);
    for (let i = 0; i < 10; i++) expect((await server.ask('/api/agents')).status).toBe(200);
  });
});

/** Resolves with the first event. */
function openStream(port: number, path: string, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${TOKEN}` };
    get({ host: '127.0.0.1', port, path, agent, headers }, (response) => {
      response.on('error', () => undefined); // cut off: the test looks at `closed`
      response.once('data', () => resolve(response));
    }).on('error', reject);
  });
}
