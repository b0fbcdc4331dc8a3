import { describe, expect, test, vi } from 'vitest';
import { printError } from '../../src/cli/terminal/print.ts';
import { createClient } from '../../src/client/index.ts';
import { ERROR_TABLE, type ErrorCode, RepriseError } from '../../src/errors.ts';
import { problemOf } from '../../src/protocol/problem.ts';
import { raw, startServer, TOKEN } from '../support/server/http.ts';

const CODES = Object.keys(ERROR_TABLE) as ErrorCode[];

describe('every problem says what to do next, in details.next', () => {
  test.each(CODES)('%s', (code) => {
    const { next, general } = problemOf(new RepriseError(code, 'no'), '/x').details;
    expect(next).toMatch(/^\S.*\.$/);
    expect(general).toBe(true);
  });

  test('and the step of its cause wins, also if the details are too large to be shown', () => {
    const next = 'Turn it off and on again.';
    for (const more of [{}, { dump: 'x'.repeat(10_000) }, { cycle: 1n }]) {
      const { details } = problemOf(
        new RepriseError('STORE_BUSY', 'no', { details: { ...more, next } }),
        '/x',
      );
      expect([details.next, details.general]).toEqual([next, undefined]);
    }
  });

  test('whatever was wrong with the request', async () => {
    await using server = await startServer({});
    const session = '/api/agents/main/sessions/nobody';
    const post = { method: 'POST' } as const;
    const refused = await Promise.all([
      server.ask(session),
      server.ask(`${session}/export`),
      server.ask('/api/nothing'),
      server.ask('/api/sessions', { method: 'DELETE' }),
      server.ask('/api/sessions', { token: null }),
      server.ask('/api/sessions?limit=none'),
      server.ask('/api/agents/main/chat', { ...post, body: '{"message":' }),
      server.ask('/api/agents/main/chat', {
        ...post,
        body: 'hello',
        headers: { 'Content-Type': 'text/plain' },
      }),
      server.ask(`${session}/undo`, { ...post, body: {} }),
      server.ask(`${session}/command`, { ...post, body: { command: '/nonsense' } }),
    ]);
    for (const { status, headers, json } of refused) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(headers['content-type']).toBe('application/problem+json');
      expect(json.details).toMatchObject({ next: expect.stringMatching(/^\S.*\.$/) });
    }
    const broken = await raw(server.port, 'GET / HTTP/1.1\r\nHost: localhost\r\nno header at all\r\n\r\n');
    expect(JSON.parse(broken.slice(broken.indexOf('\r\n\r\n')))).toMatchObject({
      details: { next: expect.any(String) },
    });
  });
});

test('a client has the step, and the command line says it in its own words', async () => {
  await using server = await startServer({});
  const client = createClient({ url: server.url, token: TOKEN });
  const failure = await client
    .session('nobody')
    .get()
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: 'SESSION_NOT_FOUND',
    details: { next: expect.stringContaining('GET /api/sessions') },
  });
  const said: string[] = [];
  using _ = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  expect(printError(failure)).toBe(4);
  expect(said.at(-1)).toContain('"reprise ls" lists sessions');
  printError(new RepriseError('SESSION_NOT_FOUND', 'no', { details: { next: 'Look in the other one.' } }));
  expect(said.at(-1)).toBe('Look in the other one.\n');
});
