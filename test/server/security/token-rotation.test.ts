import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { token as tokenCommand } from '../../../src/cli/commands/token.ts';
import { Reprise } from '../../../src/engine/reprise.ts';
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts';
import { rotateTokenFile } from '../../../src/server/security/token-file.ts';
import { type Served, serve } from '../../../src/server/serve.ts';
import type { ServerConfig } from '../../../src/server/server-config.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { ask } from '../../support/server/http.ts';
import { ServeProcess } from '../../support/server/serve-process.ts';

const STREAM_END_MS = 5000;
const FIRST = 'the-first-token-of-this-server';
const SECOND = 'the-second-token-of-this-server';

let folder = '';
let homes = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reprise-rotation-'));
});
afterAll(() => rm(folder, { recursive: true }));

interface Rotating extends AsyncDisposable {
  readonly home: string;
  readonly file: string;
  readonly logs: string[];
  readonly served: Served;
  status(token: string, path?: string): Promise<number>;
  follow(token: string): Promise<Response>;
  current(): Promise<string>;
}

async function open(config: ServerConfig = {}): Promise<Rotating> {
  const home = join(folder, String(homes++));
  const reprise = new Reprise({ model: createOfflineModel(), store: await openMemoryStore({}) });
  await reprise.store.create({ id: 's', key: 'agent:main:session:s' });
  const logs: string[] = [];
  const log = (_fields: object, message: string): void => void logs.push(message);
  const logger = { info: log, warn: log, error: log };
  const served = await serve({ reprise, config: { port: 0, ...config }, logger, home });
  const file = join(home, 'server-token');
  return {
    ...{ home, file, logs, served },
    status: async (token, path = '/api/agents') =>
      (await ask(Number(new URL(served.url).port), path, { token })).status,
    follow: (token) =>
      fetch(`${served.url}/api/agents/main/sessions/s/follow`, {
        headers: { Authorization: `Bearer ${token}` },
      }),
    current: async () => (await readFile(file, 'utf8')).trim(),
    [Symbol.asyncDispose]: async () => {
      await served.close();
      await reprise[Symbol.asyncDispose]();
    },
  };
}

/** Resolves when the other side ends the stream; rejects after the time the server promises. */
async function endOf(stream: Response): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('the stream is still open')), STREAM_END_MS);
  try {
    await Promise.race([stream.text(), late]);
  } finally {
    clearTimeout(timer);
  }
}

describe('a running server', () => {
  test('refuses the old token and accepts the new one at once after a rotation, and ends the old streams', async () => {
    await using server = await open();
    const old = await server.current();
    const stream = await server.follow(old);
    expect(stream.status).toBe(200);
    await rotateTokenFile(server.file);
    const fresh = await server.current();
    expect(fresh).not.toBe(old);
    expect(await server.status(old)).toBe(401);
    expect(await server.status(fresh)).toBe(200);
    await endOf(stream);
    expect(server.logs).toContain('the token was replaced');
    expect(server.logs.join()).not.toContain(fresh);
  });

  test('ends old streams although no request comes after the rotation', async () => {
    await using server = await open();
    const stream = await server.follow(await server.current());
    await rotateTokenFile(server.file);
    await endOf(stream);
  });

  test('notices a file that was written in place by hand, however often', async () => {
    await using server = await open();
    let old = await server.current();
    for (const next of [FIRST, SECOND, FIRST, SECOND]) {
      await writeFile(server.file, `${next}\n`);
      expect([await server.status(old), await server.status(next)]).toEqual([401, 200]);
      old = next;
    }
  });

  test('refuses all clients while its token file is missing or holds no token, and never creates one by itself', async () => {
    await using server = await open();
    const old = await server.current();
    const stream = await server.follow(old);
    await rm(server.file);
    expect(await server.status(old)).toBe(401);
    await endOf(stream);
    await server.served.reload({ port: 0 });
    await expect(server.current()).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await server.status('')).toBe(401);
    expect(await server.status(old, '/healthz')).toBe(200);
    await writeFile(server.file, 'short');
    expect(await server.status('short')).toBe(401);
    await writeFile(server.file, '');
    expect(await server.status('')).toBe(401);
    await writeFile(server.file, old);
    expect(await server.status(old)).toBe(200);
  });

  test('takes a new token, limits and host names from a reloaded configuration, and leaves open streams alone', async () => {
    await using server = await open({ token: FIRST });
    const named = (): Promise<number> =>
      ask(Number(new URL(server.served.url).port), '/api/agents', {
        token: SECOND,
        headers: { Host: 'agents.example' },
      }).then(({ status }) => status);
    const stream = await server.follow(FIRST);
    await server.served.reload({ token: SECOND });
    expect([await server.status(FIRST), await server.status(SECOND)]).toEqual([401, 200]);
    await endOf(stream);
    expect(await named()).toBe(421);
    const kept = await server.follow(SECOND);
    await server.served.reload({ token: SECOND, allowedHosts: ['agents.example'], limits: { streams: 1 } });
    expect(await named()).toBe(200);
    // The open stream counts, and it is still open.
    expect(await server.status(SECOND, '/api/agents/main/sessions/s/follow')).toBe(503);
    await kept.body?.cancel();
    // A configuration that cannot hold changes nothing.
    await expect(server.served.reload({ token: 'short' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(await server.status(SECOND)).toBe(200);
  });
});

describe('reprise token', () => {
  test('rotate and revoke act on the server that runs', async () => {
    await using server = await open();
    const old = await server.current();
    await tokenCommand('rotate', { home: server.home, json: true });
    const fresh = await server.current();
    expect([await server.status(old), await server.status(fresh)]).toEqual([401, 200]);
    await tokenCommand('revoke', { home: server.home, json: true });
    expect(await server.status(fresh)).toBe(401);
    await tokenCommand('rotate', { home: server.home, json: true });
    expect(await server.status(await server.current())).toBe(200);
  });

  test('names the place of a token that no file holds', async () => {
    process.env['REPRISE_TOKEN'] = FIRST;
    try {
      await expect(tokenCommand('rotate', { home: folder })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('REPRISE_TOKEN'),
      });
    } finally {
      delete process.env['REPRISE_TOKEN'];
    }
  });
});

test('SIGHUP reloads the configuration of reprise serve, names what needs a restart, and ends nothing', async () => {
  const config = join(folder, 'xdg');
  await using served = await ServeProcess.start({
    args: ['--log-format', 'json'],
    env: { REPRISE_TOKEN: undefined, XDG_CONFIG_HOME: config },
  });
  const token = (await readFile(join(served.home, 'server-token'), 'utf8')).trim();
  const write = async (text: string): Promise<void> => {
    await mkdir(join(config, 'reprise'), { recursive: true });
    await writeFile(join(config, 'reprise', 'config.json'), text);
    process.kill(served.pid, 'SIGHUP');
  };
  const named = async (): Promise<number> =>
    (await ask(served.port, '/api/agents', { token, headers: { Host: 'agents.example' } })).status;
  await write(
    JSON.stringify({
      server: { allowedHosts: ['agents.example'] },
      lanes: { turns: 3 },
      log: { level: 'info' },
    }),
  );
  await expect.poll(named).toBe(200);
  expect(served.stderr).toMatch(/"msg":"configuration reloaded"/);
  expect(served.stderr).toMatch(/"needsRestart":\["lanes.turns"\]/);
  await write('{');
  await expect.poll(() => served.stderr).toMatch(/"msg":"the configuration was not reloaded"/);
  expect(await named()).toBe(200);
  expect(served.exitCode).toBeNull();
});
