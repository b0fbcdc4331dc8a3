import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { type Bound, bind, placeOf } from '../../src/server/bind.ts';

async function open(): Promise<Bound & AsyncDisposable> {
  const bound = await bind(placeOf({ port: 0 }));
  return {
    ...bound,
    [Symbol.asyncDispose]: async () => {
      bound.server.closeAllConnections();
      await new Promise((resolve) => bound.server.close(resolve));
    },
  };
}

test('requests that come while a server still loads wait for it and are answered', async () => {
  await using bound = await open();
  const connections = Array.from({ length: 3 }, () => once(bound.server, 'request'));
  let answered = 0;
  const early = [1, 2, 3].map(async (n) => {
    const text = await (await fetch(`${bound.url}/${n}`)).text();
    answered++;
    return text;
  });
  await Promise.all(connections);
  expect(answered).toBe(0);
  bound.answer((incoming, outgoing) => void outgoing.end(incoming.url));
  expect(await Promise.all(early)).toEqual(['/1', '/2', '/3']);
  expect(await (await fetch(`${bound.url}/late`)).text()).toBe('/late');
});

test('what is no HTTP is refused before there is anybody to answer', async () => {
  await using bound = await open();
  const socket = connect(Number(new URL(bound.url).port), '127.0.0.1');
  socket.end('no such protocol\r\n\r\n');
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  expect(text).toContain('application/problem+json');
});
