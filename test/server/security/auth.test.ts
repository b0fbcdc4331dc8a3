import { mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Reprise } from '../../../src/engine/reprise.ts';
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts';
import { ROUTES } from '../../../src/server/security/access.ts';
import { clientOf } from '../../../src/server/security/auth.ts';
import { type Served, serve } from '../../../src/server/serve.ts';
import type { ServerConfig } from '../../../src/server/server-config.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { type Answer, startServer, TOKEN } from '../../support/server/http.ts';

const silent = { info: () => {}, warn: () => {}, error: () => {} };
const FILLED: Readonly<Record<string, string>> = {
  '{agentId}': 'main',
  '{sessionId}': 's1',
  '{turnId}': 't1',
  '{inboxId}': 'i1',
  '{channelId}': 'c1',
  '{blob}': `sha256:${'0'.repeat(64)}`,
};
const pathOf = (pattern: string): string => pattern.replace(/\{\w+\}/g, (part) => FILLED[part] ?? 'x');

async function serveWith(config: ServerConfig, home?: string): Promise<Served & AsyncDisposable> {
  const reprise = new Reprise({ model: createOfflineModel(), store: await openMemoryStore({}) });
  try {
    const served = await serve({
      reprise,
      config: { port: 0, ...config },
      logger: silent,
      ...(home !== undefined && { home }),
    });
    const close = async (): Promise<void> => {
      await served.close();
      await reprise[Symbol.asyncDispose]();
    };
    return { ...served, [Symbol.asyncDispose]: close };
  } catch (error) {
    await reprise[Symbol.asyncDispose]();
    throw error;
  }
}

describe('the token', () => {
  test('is required on every route but liveness and static files, and a refusal reveals nothing (T71)', async () => {
    await using server = await startServer({ limits: { badTokens: 10_000 } });
    const wrong: Readonly<Record<string, Record<string, string>>> = {
      none: {},
      'another one': { Authorization: `Bearer ${TOKEN.replace('4711', '4712')}` },
      'a longer one': { Authorization: `Bearer ${TOKEN}0` },
      'an empty one': { Authorization: 'Bearer ' },
      'the scheme in lower case': { Authorization: `bearer ${TOKEN}` },
      'another scheme': { Authorization: `Basic ${Buffer.from(`x:${TOKEN}`).toString('base64')}` },
    };
    const open = ROUTES.filter(({ who }) => who === 'anyone').map(({ pattern }) => pattern);
    expect(open).toEqual(['/healthz', '/', '/assets/{file}', '/docs', '/docs/docs.js', '/docs/docs.css']);
    const bodies = new Set<string>();
    let refused = 0;
    for (const { method, pattern, who } of [
      ...ROUTES,
      { method: 'GET', pattern: '/no/such', who: 'owner' },
    ]) {
      for (const headers of Object.values(wrong)) {
        const answer = await server.ask(pathOf(pattern), { method, headers, token: null });
        if (who === 'anyone') {
          // Which files the page has depends on its build; a 404 for one that does not exist needs no token either.
          expect(answer.status, pattern).toBe(pattern.includes('{file}') ? 404 : 200);
          continue;
        }
        refused++;
        expect(answer.status, `${method} ${pattern}`).toBe(401);
        expect(answer.headers['www-authenticate']).toContain('Bearer');
        // The instructions for sending a token are not taken for a secret.
        expect(answer.json.details['next']).toMatch(/Bearer[^*]*$/);
        bodies.add(answer.text);
      }
      if (who === 'anyone') continue;
      const query = await server.ask(`${pathOf(pattern)}?token=${TOKEN}&access_token=${TOKEN}`, {
        method,
        token: null,
      });
      expect(query.status).toBe(401);
      bodies.add(query.text);
    }
    expect(refused).toBeGreaterThan(200);
    expect(bodies.size).toBe(1);
    expect([...bodies].join()).not.toContain(TOKEN);
  });

  test('a client without a token holds no connection: after a refusal it is closed', async () => {
    await using server = await startServer({ limits: { requestsPerMinute: 1 } });
    const agent = new Agent({ keepAlive: true });
    const kept = async (path: string): Promise<unknown[]> => {
      const { status, headers } = await server.ask(path, { token: null, agent });
      return [status, headers.connection];
    };
    expect(await kept('/healthz')).toEqual([200, 'keep-alive']);
    expect(await kept('/api/agents')).toEqual([401, 'close']);
    expect(await kept('/api/agents')).toEqual([429, 'close']);
    agent.destroy();
  });

  test('30 wrong ones from an address in either spelling must wait; a good one still works (T78)', async () => {
    await using server = await startServer({ host: '::', allowedHosts: ['localhost'] });
    const bad = { Authorization: 'Bearer wrong-wrong-wrong-wrong' };
    const first = await Promise.all(
      Array.from({ length: 30 }, () => server.ask('/api/agents', { headers: bad, token: null })),
    );
    expect(new Set(first.map(({ status }) => status))).toEqual(new Set([401]));
    const more = await server.ask('/api/agents', { headers: bad, token: null });
    expect(more.status).toBe(429);
    expect(Number(more.headers['retry-after'])).toBeGreaterThan(0);
    expect(more.json).toMatchObject({ code: 'RATE_LIMITED' });
    expect((await server.ask('/api/agents')).status).toBe(200);
    expect(clientOf('::ffff:127.0.0.1')).toBe(clientOf('127.0.0.1'));
    expect(clientOf('2001:db8::1')).toBe(clientOf('2001:db8:0:0:ffff::2'));
    expect(clientOf('2001:db8::1')).not.toBe(clientOf('2001:db8:0:1::1'));
    const from = (host: string, token: string | null): Promise<Answer> =>
      server.ask('/api/agents', { host, token, headers: { Host: 'localhost', ...(token === null && bad) } });
    const hasStack = Object.values(networkInterfaces()).some((all) =>
      all?.some(({ address }) => address === '::1'),
    );
    if (!hasStack) return;
    // A socket of the other stack to the same address: one bucket. Another address is another client.
    expect((await from('::ffff:127.0.0.1', null)).status).toBe(429);
    expect((await from('::1', null)).status).toBe(401);
    expect((await from('::1', TOKEN)).status).toBe(200);
  });

  test('a client without any token is not counted as guessing', async () => {
    await using server = await startServer({ limits: { badTokens: 1 } });
    for (let i = 0; i < 5; i++) expect((await server.ask('/api/agents', { token: null })).status).toBe(401);
  });

  test('is made on the first start, for its owner alone, and stays', async () => {
    const home = await mkdtemp(join(tmpdir(), 'reprise-token-'));
    const read = async (): Promise<string> => {
      await using served = await serveWith({}, home);
      expect(served.tokenFile).toBe(join(home, 'server-token'));
      return (await readFile(served.tokenFile ?? '', 'utf8')).trim();
    };
    const token = await read();
    expect(Buffer.from(token, 'base64url')).toHaveLength(32);
    expect((await stat(join(home, 'server-token'))).mode & 0o777).toBe(0o600);
    expect(await read()).toBe(token);
  });

  test('must be chosen for an address beyond loopback, else it does not start (T74)', async () => {
    const home = await mkdtemp(join(tmpdir(), 'reprise-token-'));
    await expect(serveWith({ host: '0.0.0.0' }, home)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    await expect(serveWith({ host: '0.0.0.0', tokenFile: join(home, 'none') }, home)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    await expect(serveWith({ host: '0.0.0.0', token: 'short' }, home)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    await writeFile(join(home, 'mine'), `${TOKEN}\n`);
    await using open = await serveWith({ host: '0.0.0.0', tokenFile: join(home, 'mine') }, home);
    expect(open.tokenFile).toBe(join(home, 'mine'));
  });

  test('by default it listens on loopback', async () => {
    await using server = await startServer();
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });
});
