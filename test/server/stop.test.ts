// @module-tag long
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openReprise } from '../../src/config/open-reprise.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { COMMAND } from '../support/processes/bundled-command.ts';
import { exitOf } from '../support/processes/exit-of.ts';
import { type Answer, ask, startServer, TOKEN } from '../support/server/http.ts';
import { openPacedProvider, type PacedProvider } from '../support/server/paced-provider.ts';

interface Running {
  readonly child: ChildProcess;
  readonly port: number;
  readonly token: string;
  readonly home: string;
  readonly pid: number;
  ask(path: string): Promise<Answer>;
}

async function start(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Running> {
  const home = await mkdtemp(join(tmpdir(), 'reprise-serve-'));
  const child = spawn(
    process.execPath,
    [COMMAND, 'serve', '--port', '0', '--json', '--home', home, ...args],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, REPRISE_TOKEN: undefined, ...env },
    },
  );
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exitOf(child);
    await rm(home, { recursive: true });
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { url, tokenFile, pid } = JSON.parse(line) as { url: string; tokenFile: string | null; pid: number };
  const token =
    tokenFile === null ? (env['REPRISE_TOKEN'] ?? '') : (await readFile(tokenFile, 'utf8')).trim();
  const port = Number(new URL(url).port);
  return { child, port, token, home, pid, ask: (path) => ask(port, path, { token }) };
}

interface Busy extends Running {
  readonly inboxId: string;
}

/** Longer than any test: a stop that waits so long is ended by the test, not by the clock. */
const PATIENT_MS = 600_000;

/** In a turn that ends when the provider is let go, run by the server because the message waits in its home. */
async function startBusy({ url }: PacedProvider, graceMs = PATIENT_MS): Promise<Busy> {
  const server = await start(['--model', 'openai-compatible:paced'], {
    REPRISE_MODELS_OPENAI_COMPATIBLE_BASE_URL: url,
    REPRISE_SERVER_LIMITS_GRACE_MS: String(graceMs),
  });
  await using reprise = await openReprise({ home: server.home, run: false });
  const { inboxId } = await reprise.receive({ channel: 'web', peer: 'ada', text: 'wait' });
  await expect
    .poll(async () => (await server.ask('/metrics')).text)
    .toContain('reprise_inbox{state="running"} 1');
  return { ...server, inboxId };
}

/** Asked to stop, and so far that it accepts nothing new. */
async function stopsTaking({ child, ask: look }: Running): Promise<void> {
  child.kill('SIGTERM');
  const state = (): Promise<string> =>
    look('/healthz').then(
      () => 'answers',
      () => 'closed',
    );
  await expect.poll(state).toBe('closed');
}

test('requests that run when it stops are answered, and no idle connection holds it up', async () => {
  const store = await openMemoryStore({});
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isAsked = false;
  const slow = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      if (name !== 'search') return value.bind(target) as unknown;
      return async (...args: Parameters<typeof target.search>) => {
        isAsked = true;
        await held;
        return target.search(...args);
      };
    },
  });
  // One that held it up would be seen.
  const limits = { keepAliveMs: PATIENT_MS, graceMs: PATIENT_MS };
  await using server = await startServer({ limits }, { store: slow });
  const headers = { Authorization: `Bearer ${TOKEN}` };
  // `fetch` keeps its connections.
  expect((await fetch(`${server.url}/api/agents`, { headers })).headers.get('connection')).toBe('keep-alive');
  const running = fetch(`${server.url}/api/search?q=x`, { headers });
  await expect.poll(() => isAsked).toBe(true);
  const closed = server.close();
  release();
  expect((await running).status).toBe(200);
  await closed;
});

test('a stream that ends because it stops leaves no connection that holds it up', async () => {
  const limits = { keepAliveMs: PATIENT_MS, graceMs: PATIENT_MS };
  await using server = await startServer({ limits });
  await server.reprise.store.create({ id: 's', key: 'agent:main:session:s' });
  // `fetch` keeps its connections.
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const stream = await fetch(`${server.url}/api/agents/main/sessions/s/follow`, { headers });
  expect(stream.headers.get('connection')).toBe('keep-alive');
  const closed = server.close();
  expect(await stream.text()).toContain('"type":"session"');
  await closed;
});

describe('reprise serve', () => {
  test('prints one line when it is ready, takes REPRISE_TOKEN, and exits with 0 on request', async () => {
    const server = await start([], { REPRISE_TOKEN: 'given-by-the-environment' });
    expect(server.token).toBe('given-by-the-environment');
    expect(server.pid).toBe(server.child.pid);
    expect((await server.ask('/readyz')).status).toBe(200);
    server.child.kill('SIGTERM');
    expect(await exitOf(server.child)).toBe(0);
    await expect(server.ask('/healthz')).rejects.toThrow();
  });

  test('SIGTERM in a turn takes nothing new and lets the turn end (T95)', async () => {
    await using provider = await openPacedProvider(1);
    const server = await startBusy(provider);
    await stopsTaking(server);
    expect(server.child.exitCode).toBeNull();
    provider.allow(1);
    expect(await exitOf(server.child)).toBe(0);
    // No engine runs anything here: it was done before the end.
    await using reprise = await openReprise({ home: server.home, run: false });
    expect(await reprise.inbox(server.inboxId)).toMatchObject({ status: 'done' });
    expect(provider.asked).toEqual(['wait']);
  });

  test('SIGTERM in a turn without end waits as long as it was set to, ends in seconds, and loses no message (T95)', async () => {
    await using provider = await openPacedProvider(1);
    const graceMs = 8500;
    const server = await startBusy(provider, graceMs);
    const began = performance.now();
    await stopsTaking(server);
    expect(await exitOf(server.child)).toBe(0);
    expect(performance.now() - began).toBeGreaterThan(graceMs);
    await using reprise = await openReprise({ home: server.home, model: 'offline' });
    await expect.poll(async () => (await reprise.inbox(server.inboxId)).status).toBe('done');
  });

  test('a second SIGTERM ends it at once, not as the first would (T95)', async () => {
    await using provider = await openPacedProvider(1);
    const server = await startBusy(provider);
    await stopsTaking(server);
    server.child.kill('SIGTERM');
    expect(await exitOf(server.child)).toBe(143);
  });

  test('does not start on a network without a token that was chosen, and says what to do (T74)', async () => {
    const home = await mkdtemp(join(tmpdir(), 'reprise-serve-'));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const child = spawn(
      process.execPath,
      [COMMAND, 'serve', '--host', '0.0.0.0', '--port', '0', '--home', home],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...process.env, REPRISE_TOKEN: undefined },
      },
    );
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    // Not its exit event: the last output may arrive after that.
    const [code] = await once(child, 'close');
    expect(code).toBe(2);
    expect(said).toContain('CONFIG_INVALID');
    expect(said).toContain('REPRISE_TOKEN');
  });
});
