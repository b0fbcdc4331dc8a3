import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBackend } from '../../../src/cli/backend/backend.ts';
import { RemoteBackend } from '../../../src/cli/backend/remote-backend.ts';
import { createClient } from '../../../src/client/index.ts';
import { Reprise } from '../../../src/engine/reprise.ts';
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts';
import { type Served, serve } from '../../../src/server/serve.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';

/** A server of another person: it records every header it receives. */
async function openCollector(
  answer: { readonly status?: number; readonly location?: string } = {},
): Promise<AsyncDisposable & { readonly url: string; readonly tokens: (string | undefined)[] }> {
  const tokens: (string | undefined)[] = [];
  const server = createServer(({ headers }, response) => {
    tokens.push(headers.authorization);
    const { status = 200, location } = answer;
    response.writeHead(status, { 'content-type': 'application/json', ...(location && { location }) });
    response.end('{"data":[],"hasMore":false,"cursor":null}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url, tokens, [Symbol.asyncDispose]: close };
}

const folder = mkdtempSync(join(tmpdir(), 'reprise-remote-token-'));
const home = join(folder, 'home');
let served: Served;
let reprise: Reprise;
beforeAll(async () => {
  reprise = new Reprise({ model: createOfflineModel(), store: await openMemoryStore({}) });
  const logger = { info: () => {}, warn: () => {}, error: () => {} };
  served = await serve({ reprise, config: { port: 0 }, logger, home });
});
afterAll(async () => {
  await served.close();
  await reprise[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const list = async (url: string, options: object = {}): Promise<unknown> =>
  (await openBackend({ url, home, ...options })).list({});

test('the token of a home is not sent to another server, and the error says how to name one', async () => {
  await using other = await openCollector();
  const refusal = { code: 'UNAUTHORIZED', details: { next: expect.stringContaining('--token-file') } };
  await expect(list(other.url)).rejects.toMatchObject(refusal);
  // The same port under a name that only looks like this machine.
  await expect(list(`http://127.0.0.1.example:${new URL(served.url).port}`)).rejects.toMatchObject(refusal);
  expect(other.tokens).toEqual([]);
  await expect(list(other.url)).rejects.toMatchObject({
    details: { next: expect.stringContaining(served.url) },
  });
});

test('the token of a home goes to its own server, by its address or as localhost', async () => {
  expect(await list(served.url)).toMatchObject({ sessions: [] });
  expect(await list(served.url.replace('127.0.0.1', 'localhost'))).toMatchObject({ sessions: [] });
});

test('a token that is named with an option goes to the server of that command', async () => {
  await using other = await openCollector();
  const file = join(folder, 'named');
  writeFileSync(file, 'a-token-for-another-server\n');
  await list(other.url, { tokenFile: file });
  process.env['REPRISE_TOKEN'] = 'a-token-of-the-environment';
  try {
    await list(other.url);
  } finally {
    delete process.env['REPRISE_TOKEN'];
  }
  expect(other.tokens).toEqual(['Bearer a-token-for-another-server', 'Bearer a-token-of-the-environment']);
});

test('the record of a killed server gives no access, and the next start removes it', async () => {
  await using other = await openCollector();
  const left = join(folder, 'left', 'servers');
  mkdirSync(left, { recursive: true });
  // No process has this id: Linux allows at most 2^22.
  writeFileSync(join(left, '1.json'), JSON.stringify({ url: other.url, pid: 2 ** 22 + 1 }));
  await expect(list(other.url, { home: join(folder, 'left') })).rejects.toMatchObject({
    code: 'UNAUTHORIZED',
  });
  expect(other.tokens).toEqual([]);
  const logger = { info: () => {}, warn: () => {}, error: () => {} };
  const next = await serve({ reprise, config: { port: 0 }, logger, home: join(folder, 'left') });
  expect(readdirSync(left)).toEqual([`${process.pid}-${new URL(next.url).port}.json`]);
  await next.close();
  expect(readdirSync(left)).toEqual([]);
});

test('a redirect is not followed, so the token stays with the server it was given for', async () => {
  await using other = await openCollector();
  await using own = await openCollector({ status: 307, location: `${other.url}/api/sessions` });
  const client = createClient({ url: own.url, token: 'a-token-of-this-server', retries: 0 });
  await expect(new RemoteBackend(client).list({})).rejects.toMatchObject({ code: 'CONNECT_FAILED' });
  expect([own.tokens.length, other.tokens.length]).toEqual([1, 0]);
});
