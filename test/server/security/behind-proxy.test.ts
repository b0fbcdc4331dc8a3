import { request as ask, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createClient } from '../../../src/client/index.ts';
import { pacedModel } from '../../support/engine/paced-model.ts';
import { openServer, TOKEN, textOf } from '../../support/server/server.ts';

interface Proxy extends AsyncDisposable {
  readonly url: string;
}

/** As docs/deploy.md has one: a path that is taken off, the public name, and nothing held back. */
async function openProxy(target: string, prefix: string, host: string): Promise<Proxy> {
  const proxy = createServer((incoming, outgoing) => {
    if (incoming.url?.startsWith(`${prefix}/`) !== true) {
      outgoing.writeHead(404).end();
      return;
    }
    const headers = { ...incoming.headers, host };
    const path = incoming.url.slice(prefix.length);
    const passed = ask(target + path, { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(passed);
    outgoing.on('close', () => passed.destroy());
    passed.on('error', () => outgoing.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${prefix}`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        proxy.close(() => resolve());
        proxy.closeAllConnections();
      }),
  };
}

test('behind a proxy with a name and a path, events arrive as they happen', async () => {
  const paced = pacedModel(['one ', 'two ', 'three']);
  await using at = await openServer(paced, {}, { allowedHosts: ['agents.example'] });
  await using proxy = await openProxy(at.url, '/reprise', 'agents.example');
  const client = createClient({ url: proxy.url, token: TOKEN });
  const events = [];
  for await (const event of client.chat('main', { message: 'go', sessionId: 's' })) {
    events.push(event);
    // Each one only when the last has come through.
    if (event.type === 'turn_start' || event.type === 'text_delta') paced.allow(1);
  }
  expect(textOf(events)).toBe('one two three');
  expect(events.at(-1)).toMatchObject({ type: 'done' });
  const response = await fetch(`${proxy.url}/api/agents/main/chat/stream?sessionId=s`, {
    headers: { authorization: `Bearer ${TOKEN}` },
  });
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': expect.stringContaining('text/event-stream'),
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
  await response.text();
  // A name that is not configured is refused.
  await using other = await openProxy(at.url, '/reprise', 'elsewhere.example');
  const refused = await fetch(`${other.url}/api/sessions`, { headers: { authorization: `Bearer ${TOKEN}` } });
  expect(refused.status).toBe(421);
});
