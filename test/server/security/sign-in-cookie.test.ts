import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Reprise } from '../../../src/engine/reprise.ts';
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts';
import { rotateTokenFile } from '../../../src/server/security/token-file.ts';
import { type Served, serve } from '../../../src/server/serve.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';

const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };
let home = '';
let reprise: Reprise;
let served: Served;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'reprise-cookie-'));
  reprise = new Reprise({ model: createOfflineModel(), store: await openMemoryStore({}) });
  const listModels = async () => [{ name: 'ollama:x', contextWindow: 8192, cost: null }];
  served = await serve({ reprise, config: { port: 0 }, logger: QUIET, home, listModels });
});
afterAll(async () => {
  await served.close();
  await reprise[Symbol.asyncDispose]();
  await rm(home, { recursive: true });
});

async function signIn(keep = false): Promise<{ readonly header: string; readonly cookie: string }> {
  const { readFile } = await import('node:fs/promises');
  const token = (await readFile(join(home, 'server-token'), 'utf8')).trim();
  const response = await fetch(`${served.url}/api/sign-in`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', origin: served.url },
    body: JSON.stringify({ keep }),
  });
  expect(response.status).toBe(200);
  const header = response.headers.get('set-cookie') ?? '';
  expect(header).not.toContain(token);
  return { header, cookie: header.split(';')[0] ?? '' };
}

const read = (headers: Record<string, string>): Promise<Response> =>
  fetch(`${served.url}/api/models`, { headers });
const write = (headers: Record<string, string>): Promise<Response> =>
  fetch(`${served.url}/api/agents/main/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ message: 'hello' }),
  });

describe('the sign-in cookie', () => {
  test('is for this server, for no script and for no other site, and lasts as long as the user chose', async () => {
    const { header } = await signIn();
    const { port } = new URL(served.url);
    expect(header).toMatch(new RegExp(`^reprise-${port}=[\\w-]{43}; `));
    expect(header).toMatch(/HttpOnly/);
    expect(header).toMatch(/SameSite=Strict/);
    expect(header).toMatch(/Path=\//);
    expect(header).not.toMatch(/Max-Age|Secure/);
    expect((await signIn(true)).header).toMatch(/Max-Age=2592000/);
  });

  test('reads and writes for the page, and for nobody else', async () => {
    const { cookie } = await signIn();
    const answer = await read({ cookie });
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { data: [{ id: 'ollama:x', contextWindow: 8192 }] },
    ]);
    expect((await write({ cookie, origin: served.url })).status).toBe(200);
    // A form of another site sends its own origin, and a program none.
    expect((await write({ cookie })).status).toBe(401);
    expect((await write({ cookie, origin: 'https://evil.example' })).status).toBe(403);
    expect((await read({ cookie, 'sec-fetch-site': 'none' })).status).toBe(401);
    expect((await read({ cookie, 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await read({ cookie: cookie.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')) })).status).toBe(
      401,
    );
    expect((await read({ cookie: 'other=1' })).status).toBe(401);
  });

  test('a wrong token gets none, and signing out removes it', async () => {
    const wrong = await fetch(`${served.url}/api/sign-in`, {
      method: 'POST',
      headers: { authorization: 'Bearer a-wrong-token-that-is-long-enough' },
    });
    expect([wrong.status, wrong.headers.get('set-cookie')]).toEqual([401, null]);
    const { cookie } = await signIn();
    const headers = { cookie, origin: served.url };
    const out = await fetch(`${served.url}/api/sign-out`, { method: 'POST', headers });
    expect(out.headers.get('set-cookie')).toMatch(/^reprise-\d+=; Max-Age=0/);
  });

  test('I-83 a new token ends it', async () => {
    const { cookie } = await signIn();
    expect((await read({ cookie })).status).toBe(200);
    await rotateTokenFile(join(home, 'server-token'));
    expect((await read({ cookie })).status).toBe(401);
    expect((await read({ cookie: (await signIn()).cookie })).status).toBe(200);
  });
});
