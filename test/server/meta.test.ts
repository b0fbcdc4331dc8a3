import { describe, expect, test } from 'vitest';
import { RepriseError } from '../../src/errors.ts';
import { createContext, createRoutes } from '../../src/server/app.ts';
import { ROUTES } from '../../src/server/security/access.ts';
import { ServerToken } from '../../src/server/security/server-token.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { startServer, TOKEN, talk } from '../support/server/http.ts';

describe('the API', () => {
  test('has exactly one row about access for every route, and no row without a route', async () => {
    await using server = await startServer();
    const logger = { info() {}, warn() {}, error() {} };
    using token = new ServerToken({ token: TOKEN }, logger);
    const app = createRoutes(createContext({ reprise: server.reprise, config: {}, token, logger }));
    const served = app.routes
      .filter(({ method, path }) => method !== 'ALL' && path !== '*' && path !== '/*')
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
    const known = ROUTES.map(({ method, pattern }) => `${method} ${pattern}`);
    expect(new Set(known).size).toBe(known.length);
    for (const route of served) expect(known).toContain(route);
    for (const route of known) expect(served).toContain(route);
  });

  test('describes itself in OpenAPI 3.1, every operation with its own id and the answer to errors', async () => {
    await using server = await startServer();
    const { json, headers } = await server.ask('/openapi.json');
    expect(headers['content-type']).toBe('application/json');
    expect(json).toMatchObject({ openapi: '3.1.0', info: { title: 'Reprise', version: '9.9.9' } });
    const operations = Object.values(
      json['paths'] as Record<string, Record<string, Record<string, unknown>>>,
    ).flatMap((path) => Object.values(path));
    expect(operations.length).toBeGreaterThan(40);
    expect(new Set(operations.map((op) => op['operationId'])).size).toBe(operations.length);
    for (const op of operations) expect(op['responses']).toHaveProperty('default');
    const open = operations.filter((op) => (op['security'] as unknown[]).length === 0);
    expect(open.map((op) => op['operationId'])).toEqual(['health']);
    expect(json['components']).toMatchObject({
      schemas: { Session: {}, Problem: {}, HistoryRow: {} },
      securitySchemes: { bearer: {} },
    });
  });

  test('reports an error as a problem: code, one sentence twice, where, and the next step', async () => {
    await using server = await startServer();
    const missing = await server.ask('/no/such');
    expect(missing.headers['content-type']).toBe('application/problem+json');
    expect(missing.json).toMatchObject({
      status: 404,
      code: 'NOT_FOUND',
      instance: '/no/such',
      retryable: false,
      outcome: 'none',
    });
    expect(missing.json.error).toBe(missing.json['detail']);
    expect(missing.json.details['next']).toEqual(expect.any(String));
    const wrong = await server.ask('/api/agents', { method: 'DELETE' });
    expect(wrong).toMatchObject({ status: 405, json: { code: 'METHOD_NOT_ALLOWED' } });
    expect(wrong.headers['allow']).toBe('GET');
    expect(await server.ask('/api/agents', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
    const field = await server.ask('/api/agents/main/sessions?limit=99999');
    expect(field.json.details).toMatchObject({ issues: [{ field: 'limit' }] });
  });

  test('a bug is 500 without a word about its inside; the log has it, and never a token', async () => {
    const store = await openMemoryStore({});
    const broken = new Proxy(store, {
      get: (target, name) => {
        if (name === 'list') return () => Promise.reject(new TypeError('secret inside'));
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    await using server = await startServer({}, { store: broken });
    const { status, text, headers } = await server.ask('/api/sessions?q=private');
    expect(status).toBe(500);
    expect(text).not.toContain('secret');
    const bug = server.logs.find(({ level }) => level === 'error');
    expect(bug?.fields).toMatchObject({
      requestId: headers['x-request-id'],
      err: { message: 'secret inside' },
    });
    const line = server.logs.find(({ message }) => message === 'request');
    expect(line?.fields).toMatchObject({ method: 'GET', route: '/api/sessions', status: 500 });
    expect(JSON.stringify(server.logs)).not.toContain(TOKEN);
    expect(JSON.stringify(server.logs)).not.toContain('private');
  });

  test('a full disk is 507 and the server stays up (T04)', async () => {
    const store = await openMemoryStore({});
    let isFull = false;
    const full = new Proxy(store, {
      get: (target, name) => {
        if (isFull && (name === 'patch' || name === 'append'))
          return () => Promise.reject(new RepriseError('STORE_FULL', 'no space left on the disk'));
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    await using server = await startServer({}, { store: full });
    const id = await talk(server.reprise, ['one']);
    const path = `/api/agents/main/sessions/${id}`;
    isFull = true;
    const refused = await server.ask(path, { method: 'PATCH', body: { label: 'x' } });
    expect(refused).toMatchObject({ status: 507, json: { code: 'STORE_FULL', outcome: 'none' } });
    expect(refused.headers['retry-after']).toBeDefined();
    expect((await server.ask(path)).status).toBe(200);
    isFull = false;
    expect((await server.ask(path, { method: 'PATCH', body: { label: 'x' } })).status).toBe(200);
  });
});

describe('what operators look at', () => {
  test('counts requests, turns, tokens, sessions, lanes and the event loop', async () => {
    await using server = await startServer();
    await talk(server.reprise, ['one', 'two']);
    await server.ask('/api/agents');
    await expect
      .poll(async () => (await server.ask('/metrics')).text)
      .toContain('reprise_turns_total{outcome="done"} 2');
    const { text, headers } = await server.ask('/metrics');
    expect(headers['content-type']).toMatch(/^text\/plain/);
    expect(text).toContain('reprise_http_requests_total{route="/api/agents",status="200"} 1');
    for (const name of [
      'reprise_sessions 1',
      'reprise_tokens_total{kind="output"}',
      'reprise_lane_waiting{lane="turns"} 0',
      'reprise_store_bytes',
      'reprise_event_loop_delay_seconds{quantile="0.99"}',
    ])
      expect(text).toContain(name);
    for (const row of text.trim().split('\n'))
      expect(row).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]*\})? [-\d.e+]+)$/);
    expect((await server.ask('/api/stats')).json).toMatchObject({
      sessions: 1,
      lanes: { turns: { running: 0, waiting: 0 } },
    });
  });

  test('liveness needs nothing, readiness needs the store', async () => {
    const store = await openMemoryStore({});
    let fails = false;
    const odd = new Proxy(store, {
      get: (target, name) => {
        if (fails && name === 'stats') return () => Promise.reject(new RepriseError('STORE_BUSY', 'locked'));
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    await using server = await startServer({}, { store: odd });
    expect((await server.ask('/readyz')).json).toEqual({ status: 'ready', version: '9.9.9' });
    fails = true;
    expect(await server.ask('/readyz')).toMatchObject({ status: 503, json: { code: 'STORE_BUSY' } });
    expect(await server.ask('/healthz', { token: null })).toMatchObject({
      status: 200,
      json: { status: 'ok' },
    });
  });

  test('agents and commands are listed, and a text is found', async () => {
    await using server = await startServer(
      {},
      { agents: { defaults: {}, helper: { profile: 'clawdbot' as never } } },
    );
    const id = await talk(server.reprise, ['the code is 4711']);
    expect((await server.ask('/api/agents')).json.data.map((row) => row.id)).toEqual(['main', 'helper']);
    const commands = (await server.ask('/api/commands')).json.data.map((row) => row.id);
    expect(commands).toContain('compact');
    expect(commands).not.toContain('quit');
    // A busy server says when it had no time to look at everything.
    await expect
      .poll(async () => (await server.ask('/api/search?q=4711&limit=1')).json)
      .toMatchObject({
        data: [{ sessionId: id, agentId: 'main', snippet: expect.stringContaining('4711') }],
        hasMore: true,
      });
    expect((await server.ask('/api/search')).status).toBe(400);
  });

  test('usage is reported by day, agent and model, for the requested period', async () => {
    await using server = await startServer();
    const today = new Date().toISOString().slice(0, 10);
    await talk(server.reprise, ['one', 'two']);
    await expect
      .poll(async () => (await server.ask('/api/usage')).json)
      .toMatchObject({
        to: today,
        total: { turns: 2, failed: 0, calls: 2 },
        days: [{ day: today, turns: 2 }],
        agents: [{ agentId: 'main', turns: 2 }],
        models: [{ model: 'offline:offline', calls: 2 }],
        complete: true,
      });
    const none = await server.ask('/api/usage?from=2001-01-01&to=2001-01-31');
    expect(none.json).toMatchObject({ total: { turns: 0 }, days: [], agents: [], models: [] });
    expect((await server.ask('/api/usage?agentId=nobody')).json).toMatchObject({ total: { turns: 0 } });
    for (const wrong of ['from=2020-02-31', 'from=2020-01-02&to=2020-01-01', 'from=1999-01-01', 'month=1'])
      expect((await server.ask(`/api/usage?${wrong}`)).status, wrong).toBe(400);
  });

  test('static pages run no script but their own, and hold no data', async () => {
    await using server = await startServer();
    await talk(server.reprise, ['a secret']);
    const pages = await Promise.all(
      ['/', '/docs', '/docs/docs.js', '/docs/docs.css'].map((path) => server.ask(path, { token: null })),
    );
    for (const { status, text, headers } of pages) {
      expect(status).toBe(200);
      expect(text).not.toMatch(/https?:\/\/|secret|<script>|\bon\w+=|innerHTML|style=/);
      expect(headers['content-security-policy']).toContain("script-src 'self'");
    }
    expect(pages[0]?.text).toContain('docs');
    expect(() => new Function(pages[2]?.text ?? '(')).not.toThrow();
  });
});
