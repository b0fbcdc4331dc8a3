import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { type Ran, type RunOptions, runBeside, startServer } from '../support/processes/command-line.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reprise-cli-import-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const timeout = 120_000;

function reprise(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const env = { REPRISE_HOME: join(folder, 'home'), XDG_CONFIG_HOME: folder, ...options.env };
  return runBeside(args, { ...options, env });
}

/** `agents/<id>/sessions/` as OpenClaw and ZyHive write it. */
function writeAgent(agentId: string, index: object, transcripts: Readonly<Record<string, string>>): string {
  const sessions = join(folder, 'source', 'agents', agentId, 'sessions');
  mkdirSync(sessions, { recursive: true });
  writeFileSync(join(sessions, 'sessions.json'), JSON.stringify(index));
  for (const [id, said] of Object.entries(transcripts)) {
    const lines = [
      { type: 'session', version: 3, id, timestamp: '2026-05-01T10:00:00.000Z', cwd: '/srv' },
      {
        ...{ type: 'message', id: `${id}-1`, parentId: null, timestamp: '2026-05-01T10:00:01.000Z' },
        message: { role: 'user', content: said },
      },
    ];
    writeFileSync(join(sessions, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  }
  return join(folder, 'source');
}

test('an OpenClaw session answers after an import, whatever model its last run used', {
  timeout,
}, async () => {
  const id = 'e5f14608-4976-4a48-99db-ee1168e2ff08';
  const lastRun = { model: 'mock-1', modelProvider: 'mock', contextTokens: 900, totalTokens: 1240 };
  const source = writeAgent(
    'main',
    { 'agent:main:main': { sessionId: id, updatedAt: 1794728514341, ...lastRun } },
    { [id]: 'my name is Ada' },
  );
  expect((await reprise(['import', source, '--yes', '--accept-settings'])).status).toBe(0);
  for (const flags of [[], ['--model', 'offline']]) {
    const asked = await reprise(['-s', 'agent:main:main', '-p', 'what is my name?', ...flags]);
    expect(asked).toMatchObject({
      status: 0,
      stderr: '',
      stdout: expect.stringContaining('your name is Ada'),
    });
  }
});

test('sessions of an agent that is not configured work after an import, and the report names the missing lines', {
  timeout,
}, async () => {
  const [direct, own] = ['1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed', '2c5ea4c0-4067-41e5-9e0a-0ab1c2d3e4f5'];
  const source = writeAgent(
    'xiuliu',
    {
      'agent:xiuliu:telegram:direct:7': { sessionId: direct, updatedAt: 1 },
      'agent:xiuliu:main': { sessionId: own, updatedAt: 2 },
    },
    { [direct]: 'my name is Ada', [own]: 'my name is Bob' },
  );
  const configure = {
    agents: { xiuliu: {} },
    session: { bindings: [{ agentId: 'xiuliu', match: { channel: 'telegram' } }] },
  };
  const look = await reprise(['import', source, '--dry-run']);
  expect(look.stderr).toContain(
    'note: the agent xiuliu (2 sessions) is not configured; it works with default',
  );
  expect(look.stderr).toContain('note: new messages from telegram go to another agent than xiuliu');
  expect(look.stderr).toContain(`add to the configuration: ${JSON.stringify(configure)}`);
  const report = await reprise(['import', source, '--yes', '--json']);
  expect(JSON.parse(report.stdout).agents).toEqual([
    { agentId: 'xiuliu', sessions: 2, isConfigured: false, unboundChannels: ['telegram'], configure },
  ]);

  expect((await reprise(['show', 'agent:xiuliu:main'])).stdout).toContain('my name is Bob');
  const question = { input: 'what is my name?' };
  expect((await reprise(['-s', 'agent:xiuliu:main'], question)).stdout).toContain('your name is Bob');
  expect((await reprise(['--agent', 'xiuliu', '-p', 'hello'])).stdout).toContain('You said: "hello"');
  {
    await using server = await startServer(join(folder, 'home'));
    const client = createClient({ url: server.url, token: readFileSync(server.tokenFile, 'utf8').trim() });
    const texts = async (request: Parameters<typeof client.chat>[1]): Promise<string> => {
      let text = '';
      for await (const event of client.chat('xiuliu', request)) if (event.type === 'done') text = event.text;
      return text;
    };
    // The next message of the same sender, and a chat that did not exist before.
    const ofSender = { channel: 'telegram', peer: '7', message: 'what is my name?' };
    expect(await texts(ofSender)).toContain('your name is Ada');
    expect(await texts({ message: 'hello' })).toContain('You said: "hello"');
    const unknown = client.chat('xiulu', { message: 'hello' });
    await expect(unknown[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  }

  mkdirSync(join(folder, 'reprise'));
  writeFileSync(join(folder, 'reprise', 'config.json'), JSON.stringify(configure));
  const again = await reprise(['import', source, '--yes', '--json']);
  expect(JSON.parse(again.stdout)).toMatchObject({ agents: [] });
});

test('each fault of a source is one line of the report, and everything else is imported', {
  timeout,
}, async () => {
  const index = {
    'agent:main:main': { sessionId: 'one', updatedAt: 1, moonPhase: 3 },
    'no key': { sessionId: 'two', updatedAt: 2 },
    'agent:main:gone': { sessionId: 'gone', updatedAt: 3 },
  };
  const source = writeAgent('main', index, { one: 'first', two: 'second' });
  writeAgent('work', {}, { three: 'third' });
  writeFileSync(join(source, 'agents/work/sessions/sessions.json'), '{"agent:work:main":{"sessionId":"th');
  writeFileSync(join(source, 'agents/main/sessions/torn.jsonl'), '{"type":"ses');
  for (const id of ['old', 'new'])
    writeFileSync(
      join(source, `agents/work/sessions/${id}.jsonl`),
      [
        { type: 'session', version: 3, id, key: 'agent:work:main', timestamp: '2026-05-01T10:00:00.000Z' },
        {
          ...{ type: 'message', id: 'm', parentId: null, message: { role: 'user', content: id } },
          timestamp: `2026-05-0${id === 'old' ? 1 : 2}T10:00:01.000Z`,
        },
      ]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(''),
    );
  const { status, stderr } = await reprise(['import', source, '--yes']);
  expect(status).toBe(6);
  expect(stderr.split('\n').map((each) => each.trim().replace(source, '<source>'))).toEqual([
    'note: two: its key "no key" cannot be used here ("no key" is not a session key); it gets a key by its id',
    'note: one: unknown fields of its index entry are not imported: "moonPhase"',
    'note: <source>/agents/main/sessions/torn.jsonl is not a transcript: none of its 1 line is a record of a known format',
    'note: old: agent:work:main has the session new, which the next message of this key reaches; find this one by its id',
    'note: sessions of the index without a transcript: gone.jsonl',
    'note: <source>/agents/work/sessions/sessions.json: no JSON; transcripts are imported without it',
    'note: the agent work (3 sessions) is not configured; it works with default settings',
    'note: to change that, add to the configuration: {"agents":{"work":{}}}',
    '5 sessions imported; 1 left as they are',
    '',
  ]);
  const { data } = JSON.parse((await reprise(['ls', '--json'])).stdout) as {
    data: { id: string; sessionKey: string }[];
  };
  expect(data.map(({ id, sessionKey }) => `${id} ${sessionKey}`).sort()).toEqual([
    'new agent:work:main',
    'old agent:work:main',
    'one agent:main:main',
    'three agent:work:session:three',
    'two agent:main:session:two',
  ]);
});
