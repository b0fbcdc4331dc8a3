// @module-tag long
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RemoteBackend } from '../../../src/cli/backend/remote-backend.ts';
import { createClient } from '../../../src/client/index.ts';
import { openReprise } from '../../../src/config/open-reprise.ts';
import type { NewEntry } from '../../../src/exports/store.ts';
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts';
import { pngBase64 } from '../../support/engine/images.ts';
import { cliEnv } from '../../support/processes/cli-env.ts';
import { type Ran, reprise, type Server, start, startServer } from '../../support/processes/command-line.ts';
import { hasTerminals, Terminal } from '../../support/processes/terminal.ts';
import { openServer, TOKEN } from '../../support/server/server.ts';

const timeout = 180_000;

const today = (): string => new Date().toISOString().slice(0, 10);

let home = '';
let began = '';
let server: Server;
beforeAll(async () => {
  began = today();
  home = mkdtempSync(join(tmpdir(), 'reprise-remote-'));
  {
    await using engine = await openReprise({ home, model: 'offline' });
    await engine.store.create({
      id: 'other',
      key: 'agent:helper:session:other',
      settings: { label: 'shed' },
    });
    for (const [id, model] of [
      ['chosen', 'offline:slow'],
      ['elsewhere', 'nobody:knows'],
    ] as const)
      await engine.store.create({ id, key: `agent:main:session:${id}`, settings: { model } });
    await engine.store.append('other', [{ type: 'message', message: { role: 'user', content: 'paint it' } }]);
    // Last: here its owner continues.
    const chat = await engine.session('agent:main:main');
    for (const text of ['my name is Ada', 'the red fox']) await chat.send(text).result;
  }
  server = await startServer(home);
}, timeout);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(home, { recursive: true });
});

/** From a machine that has no home: all it knows is the address and the token. */
function run(args: readonly string[], input?: string): Ran {
  const env = { REPRISE_URL: server.url, REPRISE_TOKEN_FILE: server.tokenFile, HOME: join(home, 'nobody') };
  return reprise(args, { env, ...(input !== undefined && { input }) });
}

test('a session the server cannot read does not hide the other sums, and the gap is reported', {
  timeout,
}, () => {
  const file = join(home, 'agents', 'main', 'sessions', 'elsewhere.jsonl');
  renameSync(file, `${file}.away`);
  mkdirSync(file);
  try {
    const { status, stdout, stderr } = run(['stats', '--by', 'model', '--json']);
    expect(status).toBe(0);
    expect(JSON.parse(stdout).data).toEqual([expect.objectContaining({ name: 'offline:offline', calls: 2 })]);
    expect(stderr).toContain('Incomplete: the server cannot read some sessions');
  } finally {
    rmdirSync(file);
    renameSync(`${file}.away`, file);
  }
  expect(run(['stats', '--by', 'model']).stderr).not.toContain('not everything');
});

test('sums the usage of the models of a server in one of its periods', { timeout }, () => {
  const { data, from, to, stored } = JSON.parse(run(['stats', '--days', '2', '--json']).stdout);
  // One day, or the two that a midnight lies between.
  const days = (data as { by: string; name: string; turns: number }[]).filter(({ by }) => by === 'day');
  expect(days.reduce((sum, { turns }) => sum + turns, 0)).toBe(2);
  for (const { name } of days) expect([began, today()]).toContain(name);
  for (const [by, name] of [
    ['agent', 'main'],
    ['model', 'offline:offline'],
  ])
    expect(data).toContainEqual(expect.objectContaining({ by, name, calls: 2, turns: 2 }));
  expect([Date.parse(to) - Date.parse(from), stored.sessions]).toEqual([86_400_000, 4]);
  const shown = run(['stats', '--by', 'model', '--agent', 'main']);
  expect(shown.stdout).toMatch(/^model +calls[^\n]*\noffline:offline +2 /);
  expect(shown.stderr).toContain('--days');
  expect(run(['stats', '--days', '400'])).toMatchObject({ status: 2 });
});

test('lists, shows and searches the sessions of a server, by the same refs', { timeout }, () => {
  const { data } = JSON.parse(run(['ls', '--json', '--agent', 'helper']).stdout) as { data: unknown[] };
  expect(data).toEqual([expect.objectContaining({ id: 'other', label: 'shed' })]);
  expect(run(['show', 'shed']).stdout).toContain('paint it');
  expect(run(['show', 'agent:main:main', '-n', '1', '--json']).stdout).toContain('"hasMore": true');
  expect(run(['search', 'red fox', '-n', '1']).stdout).toMatch(/my name is Ada .*\n.*red fox/);
  expect(run(['show', 'nobody'])).toMatchObject({ status: 4 });
  expect(run(['search', 'fox', '--seconds', '9'])).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/--seconds needs a home[^\n]*\n[^\n]*without --url/),
  });
});

test('hits of a server search come with session names, however many sessions there are', async () => {
  await using busy = await openServer(createOfflineModel());
  const { store } = busy.reprise;
  for (const id of ['plain', 'named']) {
    const settings = id === 'named' ? { label: 'garden  shed' } : {};
    await store.create({ id, key: `agent:main:session:${id}`, settings });
    await store.append(id, [{ type: 'message', message: { role: 'user', content: `a fox in ${id}` } }]);
  }
  const asked: string[] = [];
  const counting: typeof fetch = (input, init) => {
    asked.push(new URL(String(input)).pathname);
    return fetch(input, init);
  };
  const backend = new RemoteBackend(createClient({ url: busy.url, token: TOKEN, fetch: counting }));
  const { hits, names } = await backend.search({ text: 'fox' });
  expect(hits.map(({ id, agentId }) => [id, agentId, names.get(id)]).sort()).toEqual([
    ['named', 'main', 'garden shed'],
    ['plain', 'main', 'a fox in plain'],
  ]);
  expect(hits[0]).not.toHaveProperty('session');
  expect(asked).toEqual(['/api/search']);
});

test('the messages around an entry are one page of a server, however long the history is', async () => {
  await using long = await openServer(createOfflineModel());
  const { store } = long.reprise;
  await store.create({ id: 'long', key: 'agent:main:session:long' });
  const said = (i: number): object => ({ type: 'message', message: { role: 'user', content: `line ${i}` } });
  await store.append('long', Array.from({ length: 1200 }, (_, i) => said(i + 2)) as NewEntry[]);
  const asked: string[] = [];
  const counting: typeof fetch = (input, init) => {
    asked.push(String(input));
    return fetch(input, init);
  };
  const backend = new RemoteBackend(createClient({ url: long.url, token: TOKEN, fetch: counting }));
  const session = await backend.find('long');
  const before = asked.length;
  const view = await backend.history(session, { leaf: undefined, limit: undefined, at: '300' });
  expect(asked.length - before).toBe(1);
  expect(view.data.map(({ seq }) => seq)).toEqual(Array.from({ length: 11 }, (_, i) => 295 + i));
  expect(view.data.filter(({ here }) => here)).toMatchObject([{ seq: 300, text: 'line 300' }]);
  expect(view).toMatchObject({ hasMore: true, firstId: view.data[0]?.id, lastId: view.data.at(-1)?.id });
  await expect(backend.history(session, { leaf: undefined, limit: 3, at: '9999' })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  });
});

test('a chat resumes where it stopped, with commands, and -p starts a new session', { timeout }, () => {
  const { stdout, stderr, status } = run(['chat'], 'what is my name?\n/history 1\n/nonsense\n');
  expect(status).toBe(0);
  expect(stdout).toMatch(/your name is Ada[\s\S]*assistant: /);
  expect(stderr).toMatch(/Restored: 4 messages[\s\S]*There is no command \/nonsense/);
  const answer = JSON.parse(run(['-p', 'what is my name?', '--json'], '').stdout) as Record<string, string>;
  expect(answer['text']).toMatch(/^Nothing in the messages/);
  expect(run(['-p', 'what is my name?', '-s', 'agent:main:main'], '').stdout).toContain('Ada');
  expect(run(['undo', 'agent:main:main', '--json']).stdout).toBe('{"undone":"turn"}\n');
  expect(run(['compact', 'shed', '--dry-run']).stdout).toContain('Nothing to compact yet');
  expect(run(['stop', 'shed']).stderr).toContain('Nothing is running');
});

interface Said {
  readonly role: string;
}

test('-c and a bare chat resume the last session, as at home, and -p --json prints the same', {
  timeout,
}, async () => {
  const own = mkdtempSync(join(tmpdir(), 'reprise-both-'));
  {
    await using there = await startServer(join(own, 'there'));
    const from = { REPRISE_URL: there.url, REPRISE_TOKEN_FILE: there.tokenFile, HOME: join(own, 'nobody') };
    const here = { HOME: own, REPRISE_HOME: join(own, 'here') };
    const shapes = [from, here].map((env, i) => {
      const cwd = join(own, String(i));
      mkdirSync(cwd);
      const ask = (args: readonly string[], input = ''): Ran => reprise(args, { env, input, cwd });
      ask(['chat'], 'my name is Bo\n');
      const asked = JSON.parse(ask(['-p', 'my name is Ada', '--json']).stdout) as Record<string, unknown>;
      const again = JSON.parse(ask(['-c', '-p', 'what is my name?', '--json']).stdout) as typeof asked;
      expect(again).toMatchObject({ sessionId: asked['sessionId'], sessionKey: asked['sessionKey'] });
      expect(again['text']).toContain('Ada');
      const { stdout, stderr } = ask(['chat'], 'what is my name?\n/export all.jsonl\n');
      expect(stdout).toContain('Ada');
      expect(stderr).toContain('Written to all.jsonl as v3.');
      const rows = ask(['tail', '@last', '--json']).stdout.trim().split('\n');
      // A server returns entries that an engine writes for itself only as they are stored, not past ones.
      const said = rows.map((row) => JSON.parse(row) as Said).filter(({ role }) => role !== 'custom');
      return [asked, asked['usage'] as object, ...said].map((each) => Object.keys(each).toSorted());
    });
    const [remote, local] = shapes.map((each) => [...new Set(each.map(String))].toSorted());
    expect(remote).toEqual(local);
  }
  rmSync(own, { recursive: true });
});

test('/export writes what is left of a session whose image is lost, and names the loss; /help explains it here', {
  timeout,
}, async () => {
  const own = mkdtempSync(join(tmpdir(), 'reprise-lost-'));
  const there = join(own, 'there');
  {
    await using engine = await openReprise({ home: there, model: 'offline' });
    await engine.store.create({ id: 'pictured', key: 'agent:main:session:pictured' });
    const image = { type: 'image', data: pngBase64(1, 1, 100_000), mimeType: 'image/png' };
    const content = [{ type: 'text', text: 'look at this' }, image];
    await engine.store.append('pictured', [{ type: 'message', message: { role: 'user', content } }]);
  }
  rmSync(join(there, 'agents/main/sessions/pictured.blobs'), { recursive: true });
  {
    await using lacking = await startServer(there);
    const env = {
      REPRISE_URL: lacking.url,
      REPRISE_TOKEN_FILE: lacking.tokenFile,
      HOME: join(own, 'nobody'),
    };
    const input = '/export rest.jsonl\n/help\n/help export\n';
    const { stdout, stderr } = reprise(['chat', '-s', 'pictured'], { env, input, cwd: own });
    expect(stderr).toMatch(
      /note: 1 large part of pictured is missing or damaged[^\n]*\nWritten to rest\.jsonl as v3\./,
    );
    expect(readFileSync(join(own, 'rest.jsonl'), 'utf8')).toContain('look at this');
    expect(stdout).toMatch(
      / {2}\/export \[file\] \[--redact\] +write the transcript[^\n]*\n[\s\S]* {2}\/quit +leave/,
    );
    expect(stdout).toMatch(/^\/export \[file\] \[--redact\]: write the transcript/m);
  }
  rmSync(own, { recursive: true });
});

test.each(['--model', '--profile', '--store'])('%s is for a home and is refused with a server', (flag) => {
  expect(run([flag, 'nonsense', '-p', 'hi'], '')).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringMatching(
      new RegExp(`${flag} has no effect with --url[^\\n]*\\n[^\\n]*Leave out ${flag}, or --url`),
    ),
  });
});

test('a retried message is answered here, and text that began with a slash reaches the model', {
  timeout,
}, () => {
  const { stdout, stderr } = run(
    ['chat', '--new'],
    'my boat is the Halcyon\n/edit my boat is the Argo\n//slash\nwhat is my boat?\n/retry\n',
  );
  expect(stdout.match(/your boat is the Argo/g)).toHaveLength(2);
  expect(stdout).toContain('"my boat is the Argo"');
  expect(stdout).toContain('"/slash"');
  expect(stderr).toMatch(/Sent the new text[\s\S]*Asking again/);
  expect(run(['-p', '/what is this?'], '').stdout).toContain('/what is this?');
});

test.skipIf(!hasTerminals())(
  'at a terminal it is the same chat: a paste is one message, Tab completes sessions, Ctrl-C stops the answer',
  { timeout },
  async () => {
    const command = [process.execPath, join(process.cwd(), 'bin/reprise.cjs'), 'chat', '--new', 'afar'];
    const env = { REPRISE_URL: server.url, REPRISE_TOKEN_FILE: server.tokenFile, TERM: 'xterm' };
    await using terminal = new Terminal(command, {
      env: cliEnv({ ...env, HOME: join(home, 'nobody') }),
      cwd: home,
    });
    await terminal.prompt();
    terminal.type('/help\r');
    await terminal.until(/\/retry .*ask the model again/);
    terminal.type('/context\r');
    await terminal.until(/this chat has no messages yet/);
    terminal.type('\u001b[200~first\nsecond\u001b[201~\r');
    await terminal.until(/You said: "first\s+second"/);
    terminal.type('/model offline:slow\r');
    await terminal.until(/Model: offline:slow/);
    terminal.type(`\u001b[200~say ${'word '.repeat(600)}\u001b[201~\r`);
    await terminal.until(/You said: "say word word/);
    terminal.type('\u0003');
    await terminal.until(/\(stopped; the partial answer is kept\)/);
    await terminal.prompt();
    terminal.type('/switch she\t');
    await terminal.until(/^> \/switch shed/m);
    terminal.type('\r');
    await terminal.until(/Now in "shed": /);
    terminal.type('/delete\r');
    await terminal.until(/trash\? \[y\/N\]/);
    terminal.type('n\r');
    await terminal.until(/Nothing was deleted/);
    terminal.type('/quit\r');
    expect(await terminal.exit).toBe(0);
    const { data } = JSON.parse(run(['show', 'afar', '--json']).stdout) as { data: { text: string }[] };
    expect(data[0]).toMatchObject({ role: 'user', text: 'first\nsecond' });
  },
);

test('a server uses the model that a session names; an unavailable one blocks no client', {
  timeout,
}, () => {
  for (const [id, model] of [
    ['chosen', 'offline:slow'],
    ['elsewhere', 'offline:offline'],
  ] as const) {
    const { stdout } = run(['-p', 'hi', '-s', id, '--json', '--stream'], '');
    expect(stdout).toContain(`"type":"turn_start","turnId":`);
    expect(stdout).toContain(`"model":"${model}"`);
    expect(stdout).toContain('"type":"done"');
  }
});

test('tail -f prints what is stored on the server', { timeout }, async () => {
  const { url, tokenFile } = server;
  const child = start(['tail', '-f', 'other', '--json', '-n', '1', '--url', url, '--token-file', tokenFile]);
  const ended = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  // Programs receive every entry, also those an engine writes for itself.
  const next = async (): Promise<{ readonly role?: string }> => {
    const row = JSON.parse(String((await lines.next()).value)) as { readonly role?: string };
    return row.role === 'custom' ? next() : row;
  };
  expect(await next()).toMatchObject({ text: 'paint it' });
  run(['-p', 'in green', '-s', 'other'], '');
  expect(await next()).toMatchObject({ role: 'user', text: 'in green' });
  expect(await next()).toMatchObject({ role: 'assistant' });
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
});

test('no token is exit 3, no server 5, and a command that needs a home says so', { timeout }, () => {
  const wrong = join(home, 'wrong-token');
  writeFileSync(wrong, 'this-is-not-the-token');
  expect(run(['ls', '--token-file', wrong])).toMatchObject({
    status: 3,
    stderr: expect.stringContaining('--token-file'),
  });
  const nobody = run(['ls', '--url', 'http://127.0.0.1:9']);
  expect(nobody).toMatchObject({ status: 5, stderr: expect.stringContaining('reprise serve') });
  expect(run(['rm', 'shed', '--yes'])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('REPRISE_URL'),
  });
});
