import { expect, test } from 'vitest';
import { causeText } from '../../src/messages/english.ts';
import type { Message } from '../../src/messages/message.ts';
import { startServer } from '../support/server/http.ts';

const post = { method: 'POST' } as const;
const AGENT = '/api/agents/main';

type Ask = Parameters<Awaited<ReturnType<typeof startServer>>['ask']>[1];

const REFUSED: readonly [path: string, ask: Ask, code: string, params: object][] = [
  ['/api/nothing', {}, 'request.noRoute', { path: '/api/nothing' }],
  ['/api/sessions', { token: null }, 'request.noToken', {}],
  [
    '/api/sessions?limit=5000',
    {},
    'request.badField',
    { field: 'limit', rule: 'atMost', limit: 1000, unit: 'number' },
  ],
  ['/api/sessions?limit=none', {}, 'request.badField', { field: 'limit', rule: 'type', expected: 'number' }],
  ['/api/sessions?sort=x', {}, 'request.badField', { field: 'sort', rule: 'oneOf' }],
  ['/api/sessions?color=red', {}, 'request.badField', { field: 'color', rule: 'unknown' }],
  ['/api/agents/A%20B/sessions', {}, 'request.badField', { field: 'agentId', rule: 'agentId' }],
  [`${AGENT}/sessions/a%20b`, {}, 'request.badField', { field: 'sessionId', rule: 'sessionId' }],
  ['/api/usage?from=yesterday', {}, 'request.badField', { field: 'from', rule: 'date' }],
  ['/api/usage?from=2026-02-02&to=2026-01-01', {}, 'usage.order', { from: '2026-02-02', to: '2026-01-01' }],
  ['/api/usage?from=2024-01-01&to=2026-01-01', {}, 'usage.period', { days: 732, max: 366 }],
  ['/api/sessions?after=a&before=b', {}, 'request.exclusive', { fields: ['after', 'before', 'cursor'] }],
  ['/api/sessions?after=nobody', {}, 'list.noSession', { session: 'nobody' }],
  [`${AGENT}/conversations/c1`, {}, 'chat.missing', { agent: 'main', chat: 'c1' }],
  [`${AGENT}/chat`, { ...post, body: '{"message":' }, 'request.bodyNotJson', {}],
  [
    `${AGENT}/chat`,
    { ...post, body: '{"message":"a","message":"b"}' },
    'request.bodyDuplicate',
    { name: 'message' },
  ],
  [`${AGENT}/chat`, { ...post, body: {} }, 'request.badField', { field: 'message', rule: 'type' }],
  [`${AGENT}/chat`, { ...post, body: { message: 'x', before: 'e1' } }, 'request.beforeNeedsSession', {}],
  [
    `${AGENT}/chat`,
    { ...post, body: 'hello', headers: { 'Content-Type': 'text/plain' } },
    'request.bodyType',
    { type: 'text/plain' },
  ],
  [`${AGENT}/chat/stop`, { ...post, body: {} }, 'request.badField', { field: 'sessionId', rule: 'required' }],
  [`${AGENT}/chat/stop`, { ...post, body: {}, headers: { 'Idempotency-Key': 'ü' } }, 'request.badKey', {}],
  [
    '/api/sessions',
    { headers: { Origin: 'http://evil.test' } },
    'request.foreignPage',
    { origin: 'http://evil.test' },
  ],
  ['/api/sessions', { headers: { Host: 'evil.test' } }, 'request.wrongHost', { host: 'evil.test' }],
];

test.each(REFUSED)(
  '%s: the problem names its cause with parameters, and the English text is that of the cause',
  async (path, ask, code, params) => {
    await using server = await startServer({});
    const { json } = await server.ask(path, ask);
    expect(json.why).toMatchObject({ code, params });
    expect(json.detail).toBe(causeText(json.why as Message));
  },
);
