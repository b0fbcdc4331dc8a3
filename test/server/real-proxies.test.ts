// @module-tag long
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { pacedModel } from '../support/engine/paced-model.ts';
import { cannotProxy, RealProxy } from '../support/server/real-proxy.ts';
import { openServer, TOKEN, textOf } from '../support/server/server.ts';

/** As if the name led to this machine. Each request is sent as given, with the name people use. */
const byName =
  (port: number): typeof fetch =>
  async (input, { method = 'GET', headers, body, signal } = {}) => {
    const url = new URL(String(input));
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const sent = request(
      {
        host: '127.0.0.1',
        port,
        path: url.pathname + url.search,
        method,
        headers: { ...Object.fromEntries(new Headers(headers)), host: url.host },
        signal: signal ?? undefined,
      },
      (answer) => {
        const fields = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
          values.map((value): [string, string] => [name, value]),
        );
        const hasBody = ![101, 204, 205, 304].includes(answer.statusCode ?? 0);
        const stream = hasBody ? (Readable.toWeb(answer) as ReadableStream<Uint8Array>) : null;
        resolve(new Response(stream, { status: answer.statusCode ?? 502, headers: fields }));
      },
    );
    sent.on('error', reject);
    sent.end(body as string | undefined);
    return promise;
  };

const MEBIBYTE = 1024 * 1024;

describe.each(['nginx', 'caddy'] as const)('behind %s as docs/deploy.md sets it up', (kind) => {
  const why = cannotProxy(kind);
  test.skipIf(why !== undefined)(
    `a name, a path and a port of its own: events come as they happen, large messages pass, pages may call${why === undefined ? '' : ` (skipped: ${why})`}`,
    async () => {
      const paced = pacedModel(['one ', 'two ', 'three']);
      await using at = await openServer(paced, {}, { allowedHosts: ['agents.example'] });
      await using proxy = await RealProxy.before(kind, at.url);
      const own = byName(proxy.port);
      const base = `http://agents.example:${proxy.port}`;
      const client = createClient({ url: `${base}/reprise`, token: TOKEN, fetch: own });
      const events = [];
      for await (const event of client.chat('main', { message: 'go', sessionId: 's' })) {
        events.push(event);
        // Each one only when the last has come through.
        if (event.type === 'turn_start' || event.type === 'text_delta') paced.allow(1);
      }
      expect(textOf(events)).toBe('one two three');
      expect(events.at(-1)).toMatchObject({ type: 'done' });

      // A request without the last slash is redirected to the page, and every request of the page stays on its origin.
      const bare = await own(`${base}/reprise`);
      expect([301, 302, 307, 308]).toContain(bare.status);
      const page = new URL(bare.headers.get('location') ?? '', `${base}/reprise`);
      expect(page.href).toBe(`${base}/reprise/`);
      expect((await own(page)).headers.get('content-type')).toContain('text/html');
      const headers = { authorization: `Bearer ${TOKEN}`, origin: base, 'sec-fetch-site': 'same-origin' };
      expect((await own(`${base}/reprise/api/sessions`, { headers })).status).toBe(200);
      // Chats have names of other systems' making.
      const chat = '/api/agents/main/conversations/x%2Fy%20z';
      const through = await own(`${base}/reprise${chat}`, { headers });
      const direct = await at.request(chat);
      expect(await through.json()).toEqual(await direct.json());

      const large = await own(`${base}/reprise/api/agents/main/chat`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ sessionId: 's', message: 'x'.repeat(20 * MEBIBYTE) }),
      });
      // It came as far as the server, which has its own error for it.
      expect(await large.json()).toMatchObject({ code: 'LIMIT_EXCEEDED' });
    },
  );
});
