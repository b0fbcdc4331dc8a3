import { describe, expect, test } from 'vitest';
import { Reprise } from '../../src/engine/reprise.ts';
import { RepriseError } from '../../src/errors.ts';
import { createOfflineModel } from '../../src/models/offline/offline-model.ts';
import { Idempotency } from '../../src/server/idempotency.ts';
import { serve } from '../../src/server/serve.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { ask, startServer, TOKEN, talk } from '../support/server/http.ts';

describe('a mutation with an Idempotency-Key', () => {
  test('is done once, and a retry gets the same answer (T59)', async () => {
    await using server = await startServer();
    const id = await talk(server.reprise, ['one']);
    const path = `/api/agents/main/sessions/${id}/fork`;
    const headers = { 'Idempotency-Key': 'k1' };
    const first = await server.ask(path, { method: 'POST', body: {}, headers });
    const again = await server.ask(path, { method: 'POST', body: {}, headers });
    expect(first.status).toBe(201);
    expect({ status: again.status, text: again.text }).toEqual({ status: 201, text: first.text });
    expect(again.headers['idempotency-key']).toBe('k1');
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect((await server.reprise.sessions()).sessions).toHaveLength(2);
    const other = await server.ask(path, { method: 'POST', body: { at: 'x' }, headers });
    expect(other).toMatchObject({ status: 422, json: { code: 'KEY_REUSED' } });
    expect(
      (await server.ask(`/api/agents/main/sessions/${id}/undo`, { method: 'POST', headers })).status,
    ).toBe(422);
    // A refusal is an answer too.
    const refused = { 'Idempotency-Key': 'k2' };
    const no = await server.ask(path, { method: 'POST', body: { at: 'nope' }, headers: refused });
    expect(no.status).toBe(404);
    expect(
      (await server.ask(path, { method: 'POST', body: { at: 'nope' }, headers: refused })).headers[
        'idempotency-replayed'
      ],
    ).toBe('true');
  });

  test('makes no second copy of a session when it is sent again after a restart, even after new messages', async () => {
    const store = await openMemoryStore({});
    const fork = { method: 'POST', headers: { 'Idempotency-Key': 'k1' } };
    const reprise = new Reprise({ model: createOfflineModel(), store });
    const id = await talk(reprise, ['one']);
    const path = `/api/agents/main/sessions/${id}/fork`;
    const config = { port: 0, token: TOKEN };
    const logger = { info() {}, warn() {}, error() {} };
    const first = await serve({ reprise, config, logger });
    const made = await ask(Number(new URL(first.url).port), path, fork);
    await first.close();
    await talk(reprise, ['two']);
    const second = await serve({ reprise, config, logger });
    const again = await ask(Number(new URL(second.url).port), path, fork);
    await second.close();
    expect([made.status, again.status]).toEqual([201, 201]);
    expect(again.json.session).toEqual(made.json.session);
    expect((await reprise.sessions()).sessions).toHaveLength(2);
    await reprise[Symbol.asyncDispose]();
  });

  test('whose first request still runs is 409 IN_FLIGHT', async () => {
    const store = await openMemoryStore({});
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let calls = 0;
    const slow = new Proxy(store, {
      get: (target, name) => {
        if (name !== 'delete') {
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? value.bind(target) : value;
        }
        return async (id: string) => {
          calls++;
          await held;
          return target.delete(id);
        };
      },
    });
    await using server = await startServer({}, { store: slow });
    const id = await talk(server.reprise, ['one']);
    const path = `/api/agents/main/sessions/${id}`;
    const headers = { 'Idempotency-Key': 'k1' };
    const first = server.ask(path, { method: 'DELETE', headers });
    await expect.poll(() => calls).toBe(1);
    const second = await server.ask(path, { method: 'DELETE', headers });
    expect(second).toMatchObject({ status: 409, json: { code: 'IN_FLIGHT', retryable: true } });
    expect(second.headers['retry-after']).toBe('1');
    release();
    expect((await first).status).toBe(200);
    expect((await server.ask(path, { method: 'DELETE', headers })).status).toBe(200);
    expect(calls).toBe(1);
  });

  test('carries its key on every answer, a generated one if there was none, errors too', async () => {
    await using server = await startServer();
    for (const [path, options] of [
      ['/api/agents/main/sessions/s/fork', {}],
      ['/api/agents/main/sessions/s/fork', { token: null }],
      ['/api/agents/main/sessions/s', { method: 'DELETE' }],
      ['/no/such', {}],
      ['/api/agents/main/sessions/s/fork', { body: '{' }],
    ] as const) {
      const made = await server.ask(path, { method: 'POST', ...options });
      expect(made.status).toBeGreaterThanOrEqual(400);
      expect(made.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
      const own = await server.ask(path, {
        method: 'POST',
        ...options,
        headers: { 'Idempotency-Key': 'mine' },
      });
      expect(own.headers['idempotency-key']).toBe('mine');
    }
    const bad = await server.ask('/api/agents/main/sessions/s/fork', {
      method: 'POST',
      headers: { 'Idempotency-Key': 'a b' },
    });
    expect(bad).toMatchObject({ status: 400, json: { code: 'INVALID_INPUT' } });
    expect(bad.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('whose outcome is unknown is 503 with that outcome, and is executed again with the same key', async () => {
    const store = await openMemoryStore({});
    let fails = true;
    const failing = new Proxy(store, {
      get: (target, name) => {
        if (!fails || (name !== 'create' && name !== 'patch')) {
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === 'function' ? value.bind(target) : value;
        }
        return async () => {
          throw new RepriseError('STORE_FAILED', 'the disk said no');
        };
      },
    });
    fails = false;
    await using server = await startServer({}, { store: failing });
    const id = await talk(server.reprise, ['one']);
    fails = true;
    const path = `/api/agents/main/sessions/${id}`;
    const fork = { method: 'POST', headers: { 'Idempotency-Key': 'k1' } };
    const patch = { method: 'PATCH', body: { label: 'x' }, headers: { 'Idempotency-Key': 'k2' } };
    const first = await server.ask(`${path}/fork`, fork);
    expect(first).toMatchObject({ status: 503, json: { code: 'STORE_FAILED', outcome: 'unknown' } });
    expect(Number(first.headers['retry-after'])).toBeGreaterThan(0);
    expect((await server.ask(path, patch)).status).toBe(503);
    fails = false;
    expect((await server.ask(`${path}/fork`, fork)).status).toBe(201);
    expect((await server.ask(path, patch)).status).toBe(200);
  });
});

describe('the memory of keys', () => {
  test('is bounded in number and bytes, oldest first out, never one that runs', () => {
    let now = 0;
    const answers = new Idempotency(() => now);
    const answer = (bytes: number) => ({ status: 200, headers: {}, body: new ArrayBuffer(bytes) });
    expect(answers.begin('running', 'd')).toBeUndefined();
    for (let i = 0; i < 40; i++) {
      answers.begin(`k${i}`, 'd');
      answers.end(`k${i}`, answer(1024 * 1024));
    }
    expect(answers.begin('k39', 'd')).toBeDefined();
    expect(() => answers.begin('running', 'd')).toThrow(expect.objectContaining({ code: 'IN_FLIGHT' }));
    expect(answers.begin('k0', 'other')).toBeUndefined();
    now += 25 * 60 * 60 * 1000;
    expect(answers.begin('k39', 'other')).toBeUndefined();
  });
});
