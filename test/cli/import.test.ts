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
