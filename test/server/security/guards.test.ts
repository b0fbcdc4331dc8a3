import { existsSync } from 'node:fs';
import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openJsonlStore } from '../../../src/store/jsonl/open.ts';
import { raw, startServer, TOKEN, talk } from '../../support/server/http.ts';

const AUTH = `Authorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`;
const statusOf = (text: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);

describe('requests a browser was tricked into', () => {
  test('another host is not answered for, in any spelling (T72)', async () => {
    await using server = await startServer();
    for (const host of [
      'evil.example',
      `evil.example:${server.port}`,
      'localhost.',
      '127.0.0.1.',
      'localhost.evil.example',
      '0.0.0.0',
      '127.0.0.1@evil.example',
      '',
      'a b',
    ])
      expect(
        statusOf(await raw(server.port, `GET /api/agents HTTP/1.1\r\nHost: ${host}\r\n${AUTH}`)),
        host,
      ).toSatisfy((status: number) => status === 421 || status === 400);
    expect(
      statusOf(await raw(server.port, `GET /api/agents HTTP/1.1\r\nHost: evil.example\r\n${AUTH}`)),
    ).toBe(421);
    expect(statusOf(await raw(server.port, `GET /api/agents HTTP/1.1\r\nHost: localhost.\r\n${AUTH}`))).toBe(
      421,
    );
    for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1', '[::1]:80', `localhost:${server.port}`])
      expect(
        statusOf(await raw(server.port, `GET /api/agents HTTP/1.1\r\nHost: ${host}\r\n${AUTH}`)),
        host,
      ).toBe(200);
  });

  test('two hosts, none, and a whole address as target are refused (T72)', async () => {
    await using server = await startServer();
    const two = `GET /api/agents HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n${AUTH}`;
    expect(statusOf(await raw(server.port, two))).toSatisfy(
      (status: number) => status === 421 || status === 400,
    );
    expect(statusOf(await raw(server.port, `GET /api/agents HTTP/1.1\r\n${AUTH}`))).toSatisfy(
      (status: number) => status === 421 || status === 400,
    );
    for (const target of ['http://evil.example/api/agents', 'http://localhost/api/agents'])
      expect(
        statusOf(await raw(server.port, `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${AUTH}`)),
        target,
      ).toBe(421);
    expect(
      statusOf(await raw(server.port, `CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n${AUTH}`)),
    ).toBe(405);
  });

  test('pages of other origins and sites may not call; programs without an origin may (T72)', async () => {
    await using server = await startServer();
    const own = `http://127.0.0.1:${server.port}`;
    const ask = (headers: Record<string, string>) => server.ask('/api/agents', { headers });
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { Origin: `${own}.evil.example` },
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' },
    ]) {
      const answer = await ask(headers as unknown as Record<string, string>);
      expect(answer.status, JSON.stringify(headers)).toBe(403);
      expect(answer.json).toMatchObject({ code: 'FORBIDDEN' });
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    }
    expect((await ask({})).status).toBe(200);
    expect((await ask({ Origin: own, 'Sec-Fetch-Site': 'same-origin' })).status).toBe(200);
    // A link to the static page is all right; it holds nothing.
    const link = { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' };
    expect((await server.ask('/docs', { headers: link, token: null })).status).toBe(200);
  });

  test('an origin that is configured may, and a preflight needs no token', async () => {
    await using server = await startServer({ cors: { origins: ['https://admin.example'] } });
    const Origin = 'https://admin.example';
    const asked = { Origin, 'Access-Control-Request-Method': 'PATCH' };
    const preflight = await server.ask('/api/agents', { method: 'OPTIONS', headers: asked, token: null });
    expect(preflight.status).toBe(204);
    expect(preflight.headers['access-control-allow-origin']).toBe(Origin);
    const headers = { Origin, 'Sec-Fetch-Site': 'cross-site' };
    expect((await server.ask('/api/agents', { headers })).headers['access-control-allow-origin']).toBe(
      Origin,
    );
    expect((await server.ask('/api/agents', { headers, token: null })).status).toBe(401);
    expect((await server.ask('/api/agents', { headers: { Origin: 'https://other.example' } })).status).toBe(
      403,
    );
  });

  test('a body that is no JSON is refused before it is read (T72)', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, ['hello']);
    const path = `/api/agents/main/sessions/${id}/fork`;
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/json; charset=utf-16',
      'application/jsonp',
    ])
      expect(
        (await server.ask(path, { method: 'POST', body: '{}', headers: { 'Content-Type': type } })).status,
        type,
      ).toBe(415);
    const gzip = { 'Content-Encoding': 'gzip' };
    expect((await server.ask(path, { method: 'POST', body: '{}', headers: gzip })).status).toBe(415);
    expect((await server.reprise.sessions()).sessions).toHaveLength(1);
    expect(
      (
        await server.ask(path, {
          method: 'POST',
          body: '{}',
          headers: { 'Content-Type': 'application/json; charset=UTF-8' },
        })
      ).status,
    ).toBe(201);
    expect((await server.ask(path, { method: 'POST' })).status).toBe(201);
  });

  test('every answer carries what browsers need to be strict', async () => {
    await using server = await startServer();
    for (const [path, options] of [
      ['/', {}],
      ['/docs', {}],
      ['/healthz', {}],
      ['/api/agents', {}],
      ['/api/agents', { token: null }],
      ['/nope', {}],
      ['/api/agents', { headers: { Origin: 'null' } }],
      ['/api/agents', { method: 'POST' }],
    ] as const) {
      const { headers } = await server.ask(path, options);
      expect(headers['x-content-type-options'], path).toBe('nosniff');
      expect(headers['x-frame-options']).toBe('DENY');
      expect(headers['content-security-policy']).toMatch(/default-src 'none'/);
      expect(headers['content-security-policy']).not.toMatch(/unsafe/);
      expect(headers['referrer-policy']).toBe('no-referrer');
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      expect(headers['access-control-allow-origin']).toBeUndefined();
    }
  });
});

describe('ids', () => {
  const BAD = [
    '../x',
    '..%2fx',
    '%2e%2e',
    '%2e%2e%2fx',
    '%252e%252e',
    '%2fetc',
    'a%2fb',
    '..%5cx',
    'a%5cb',
    '%00',
    'a%00b',
    '.',
    '..',
    '-a',
    '.a',
    'a%0ab',
    '%e2%80%aea',
    'a'.repeat(300),
    '%',
    '%zz',
    'a%20b',
    '%c0%af',
  ];

  /** As a body says it; one that is no escape stays as it is. */
  const spelled = (bad: string): string => {
    try {
      return decodeURIComponent(bad);
    } catch {
      return bad;
    }
  };

  test('that could be a path or a trick are 400 on every route, and touch no file (T60)', async () => {
    const home = await mkdtemp(join(tmpdir(), 'reprise-ids-'));
    const store = await openJsonlStore({ home: join(home, 'in') });
    await using server = await startServer({}, { store });
    const id = await talk(server.reprise, ['hello']);
    for (const bad of BAD) {
      for (const path of [
        `/api/agents/${bad}/sessions`,
        `/api/agents/${bad}/sessions/${id}`,
        `/api/agents/main/sessions/${bad}`,
        `/api/sessions/main/${bad}`,
        `/api/sessions/${bad}/${id}/context`,
      ]) {
        for (const method of ['GET', 'PATCH', 'DELETE']) {
          const { status, json } = await server.ask(path, {
            method,
            ...(method === 'PATCH' && { body: { title: 'x' } }),
          });
          expect(status, `${method} ${path}`).toSatisfy((s: number) => s === 400 || s === 405);
          expect(['INVALID_ID', 'INVALID_INPUT', 'METHOD_NOT_ALLOWED']).toContain(json.code);
        }
      }
    }
    const post = (path: string, body: object) => server.ask(path, { method: 'POST', body });
    for (const bad of BAD) {
      const name = spelled(bad);
      const answers = {
        agent: await post(`/api/agents/${bad}/chat`, { message: 'x' }),
        chat: await post('/api/agents/main/chat', { message: 'x', sessionId: name }),
        session: await post('/api/inbound', { text: 'x', channel: 'web', sessionId: name }),
        inbound: await post('/api/inbound', { text: 'x', channel: 'web', agentId: name }),
        stream: await server.ask(`/api/agents/main/chat/stream?sessionId=${bad}`),
        stop: await post('/api/agents/main/chat/stop', { sessionId: name }),
        export: await server.ask(`/api/agents/main/sessions/${bad}/tree`),
      };
      for (const [door, { status }] of Object.entries(answers)) expect(status, `${door} ${bad}`).toBe(400);
    }
    expect((await server.ask('/api/agents//sessions')).status).toBe(400);
    expect(await readdir(home)).toEqual(['in']);
    expect(existsSync(join(home, 'x'))).toBe(false);
    expect((await server.ask(`/api/agents/main/sessions/${id}`)).status).toBe(200);
  });

  test('of an agent that does not have the session are as if there were none', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, ['hello']);
    for (const path of [
      `/api/agents/other/sessions/${id}`,
      `/api/sessions/other/${id}`,
      '/api/agents/main/sessions/nobody',
    ])
      expect(await server.ask(path)).toMatchObject({ status: 404, json: { code: 'SESSION_NOT_FOUND' } });
  });
});
