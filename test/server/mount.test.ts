import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { openReprise } from '../../src/index.ts';
import { createApp } from '../../src/server/index.ts';

const auth = (request: Request) => {
  const token = request.headers.get('authorization')?.replace('Bearer ', '');
  return token === undefined ? undefined : { user: token, role: 'user' as const };
};

/** What a user of the mounted API does: send, stream, and read it again. */
async function chatAt(url: string): Promise<string> {
  const client = createClient({ url, token: 'ada' });
  const stream = client.chat('main', { message: 'hello there' });
  let sessionId = '';
  let text = '';
  for await (const event of stream) {
    if (event.type === 'session') sessionId = event.sessionId;
    if (event.type === 'done') text = event.text;
  }
  const page = await client.session(sessionId).get();
  expect(JSON.stringify(page)).toContain('hello there');
  return text;
}

test('the API mounted in node:http, Express style, streams a chat to the client library', async () => {
  await using reprise = await openReprise({ store: 'memory' });
  const app = createApp({ reprise, auth });
  const server = createServer((incoming, outgoing) => {
    // Express removes the path of the mount from `url`.
    if (incoming.url?.startsWith('/reprise/') !== true) return void outgoing.writeHead(404).end();
    incoming.url = incoming.url.slice('/reprise'.length);
    app.node(incoming, outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    expect(await chatAt(`http://127.0.0.1:${port}/reprise`)).toContain('You said: "hello there"');
  } finally {
    app.close();
    server.closeAllConnections();
    server.close();
  }
});

test('the API mounted in Hono below a path, as in Next.js and Bun, answers through fetch', async () => {
  await using reprise = await openReprise({ store: 'memory' });
  const app = createApp({ reprise, auth, basePath: '/api/reprise' });
  const hono = new Hono();
  hono.all('/api/reprise/*', (c) => app(c.req.raw));
  const ask = (path: string, init: RequestInit = {}) =>
    hono.fetch(
      new Request(`http://app.example/api/reprise${path}`, {
        ...init,
        headers: { authorization: 'Bearer ada', 'content-type': 'application/json' },
      }),
    );
  const chat = await ask('/api/agents/main/chat', { method: 'POST', body: '{"message":"hello there"}' });
  expect(await chat.text()).toContain('"type":"done"');
  const list = (await (await ask('/api/sessions')).json()) as { data: { messageCount: number }[] };
  expect(list.data).toMatchObject([{ messageCount: 2 }]);
  const openapi = await ask('/openapi.json');
  expect(openapi.status).toBe(200);
  expect((await hono.fetch(new Request('http://app.example/api/reprise/api/sessions'))).status).toBe(401);
});
