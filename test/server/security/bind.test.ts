import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { Reprise } from '../../../src/engine/reprise.ts';
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts';
import { type Bound, bind, placeOf } from '../../../src/server/security/bind.ts';
import { serve } from '../../../src/server/serve.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { TOKEN } from '../../support/server/http.ts';

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

test('what is not HTTP is refused before the server is ready', async () => {
  await using bound = await open();
  const socket = connect(Number(new URL(bound.url).port), '127.0.0.1');
  socket.end('no such protocol\r\n\r\n');
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  expect(text).toContain('application/problem+json');
});

test('a socket that cannot accept one more connection continues with those it has, and reports it', async () => {
  const bound = await bind(placeOf({ port: 0 }));
  const full = Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' });
  // Before the server is ready, and after.
  for (let i = 0; i < 3; i++) bound.server.emit('error', full);
  const errors: object[] = [];
  const logger = { info() {}, warn() {}, error: (fields: object) => void errors.push(fields) };
  const store = await openMemoryStore({});
  await using reprise = new Reprise({ store, model: createOfflineModel() });
  const served = await serve({ reprise, config: { token: TOKEN }, logger, bound });
  bound.server.emit('error', full);
  expect(errors).toEqual([{ err: full }]);
  expect((await fetch(`${served.url}/healthz`)).status).toBe(200);
  await served.close();
});

test('a server that cannot listen leaves nothing behind in the engine it was given', async () => {
  await using taken = await open();
  const { port } = new URL(taken.url);
  const store = await openMemoryStore({});
  await using reprise = new Reprise({ store, model: createOfflineModel() });
  const listening: AbortSignal[] = [];
  const events: Reprise['events'] = ({ signal } = {}) => {
    if (signal !== undefined) listening.push(signal);
    return Reprise.prototype.events.call(reprise, signal === undefined ? {} : { signal });
  };
  const logger = { info() {}, warn() {}, error() {} };
  const config = { token: TOKEN, port: Number(port) };
  const refused = serve({ reprise: Object.assign(reprise, { events }), config, logger });
  await expect(refused).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  expect(listening.map(({ aborted }) => aborted)).toEqual([true]);
});
