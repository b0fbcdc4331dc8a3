import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openReprise } from '../../../src/config/open-reprise.ts';
import { openAnthropicServer, openOpenAiServer } from '../../../testing/index.ts';
import { type Ran, runBeside, startServer } from '../../support/processes/command-line.ts';

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'reprise-options-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

interface RunOptions {
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
}

function reprise(args: readonly string[], { input, env }: RunOptions = {}): Promise<Ran> {
  return runBeside(args, { env: { REPRISE_HOME: home, ...env }, ...(input !== undefined && { input }) });
}

const answer = (text: string): { blocks: { type: 'text'; text: string }[] } => ({
  blocks: [{ type: 'text', text }],
});

describe('one question', { timeout: 180_000 }, () => {
  test('prints the answer and nothing else, in a new session', async () => {
    await reprise([], { input: 'my name is Ada' });
    const { status, stdout, stderr } = await reprise(['-p', 'what is my name?']);
    expect(status).toBe(0);
    expect(stdout).toBe('Nothing in the messages I was sent says what your name is.\n');
    expect(stderr).toBe('');
    await using engine = await openReprise({ home, run: false });
    const { sessions } = await engine.sessions();
    expect(sessions.map(({ messageCount }) => messageCount)).toEqual([2, 2]);
    // The owner's chat stands where it stood.
    expect((await engine.store.active('agent:main:main'))?.title).toBe('my name is Ada');
  });

  test('-c continues the last session, -s the one it names', async () => {
    await reprise([], { input: 'my name is Ada' });
    await reprise(['-p', 'my name is Bob', '--new', 'of-bob']);
    expect((await reprise(['-c', '-p', 'what is my name?'])).stdout).toContain('your name is Bob');
    expect((await reprise(['-p', 'what is my name?', '-s', 'agent:main:main'])).stdout).toContain('Ada');
    expect((await reprise(['-s', 'of-b', '-p', 'what is my name?'])).stdout).toContain('Bob');
    expect((await reprise(['-r', 'of-b', '-p', 'what is my name?'])).stdout).toContain('Bob');
    expect((await reprise(['-s', 'nowhere', '-p', 'hello'])).status).toBe(4);
    const picked = await reprise(['-r', '-p', 'hello']);
    expect(picked).toMatchObject({ status: 2, stdout: '' });
    expect(picked.stderr.trimEnd().split('\n')).toHaveLength(2);
  });

  test('piped input follows the prompt, or is the question', async () => {
    const both = await reprise(['-p', 'read this:'], { input: 'a red fox\n' });
    expect(both.stdout).toContain('You said: "a red fox"');
    const alone = await reprise(['-p'], { input: 'a grey cat\n' });
    expect(alone.stdout).toContain('You said: "a grey cat"');
    await using engine = await openReprise({ home, run: false });
    const titles = (await engine.sessions()).sessions.map(({ title }) => title);
    expect(titles).toEqual(['a grey cat', 'read this: a red fox']);
  });

  test('without words it is an error and stores nothing', async () => {
    const { status, stderr } = await reprise(['-p', '--home', join(home, 'none')]);
    expect(status).toBe(2);
    expect(stderr).toContain('there is no question (INVALID_INPUT)\nAdd one: reprise -p');
    expect(existsSync(join(home, 'none'))).toBe(false);
  });

  test('--json is one object; with --stream it is every event and one end', async () => {
    const one = JSON.parse((await reprise(['-p', 'hello', '--json'])).stdout) as Record<string, unknown>;
    expect(one).toMatchObject({ model: 'offline:offline', usage: { output: expect.any(Number) } });
    expect(one['text']).toContain('You said: "hello"');
    const { stdout } = await reprise(['-p', 'hello', '-s', String(one['sessionId']), '--json', '--stream']);
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; text?: string; sessionId?: string });
    expect(events[0]).toMatchObject({ type: 'session', sessionId: one['sessionId'] });
    expect(events.filter(({ type }) => type === 'done' || type === 'error')).toHaveLength(1);
    const deltas = events.filter(({ type }) => type === 'text_delta').map(({ text }) => text);
    expect(deltas.join('')).toBe(events.at(-1)?.text);
    expect((await reprise(['--json'])).status).toBe(2);
  });

  test('a failed answer prints the cause, the next step and where the question is, with the exit code', async () => {
    const { status, stderr } = await reprise(['-p', 'hello', '--model', 'offline:error']);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^reprise: .*on purpose.* \(MODEL_FAILED\)\nTry again.*\n.*reprise -s \S+ continues there\.\n$/,
    );
  });
});

describe('which session a chat resumes', { timeout: 180_000 }, () => {
  test('the most recent one of the owner, never that of a channel or a child', async () => {
    {
      await using engine = await openReprise({ home });
      await (await engine.session('agent:main:main')).send('mine').result;
      const fork = await (await engine.session('agent:main:main')).fork();
      await (await engine.session({ id: fork.id })).send('in the copy').result;
      const { childSessionKey = '' } = await engine.spawn({ id: fork.id }, { task: 'count the stars' });
      await engine.receive({ channel: 'telegram', text: 'of a channel', peerKind: 'group', peer: '7' });
      await engine.idle();
      await (await engine.session(childSessionKey)).send('go on').result;
      const { sessions } = await engine.sessions();
      expect(sessions[0]?.sessionKey).toContain(':subagent:');
    }
    const { stdout, stderr } = await reprise([], { input: '/status' });
    expect(stderr).toMatch(/^Restored: 2 previous turns of "mine"\.$/m);
    expect(stdout).toContain('agent:main:session:');
  });

  test('--new starts one, with a label; two options that name different sessions are an error', async () => {
    await reprise([], { input: 'hello' });
    const { stdout, stderr } = await reprise(['--new', 'garden'], { input: '/status' });
    expect(stdout).toMatch(/^garden\n/);
    expect(stderr).toMatch(/^A new session: "garden"\.$/m);
    expect((await reprise([], { input: '/status' })).stdout).toMatch(/^garden\n/);
    const both = await reprise(['-c', '--new']);
    expect(both).toMatchObject({
      status: 2,
      stderr: '-c and --new cannot be combined (INVALID_INPUT)\nUse only one of them.\n'.replace(
        /^/,
        'reprise: ',
      ),
    });
  });

  test('--agent talks to another agent; an unknown name is an error', async () => {
    const { status, stderr } = await reprise(['--agent', 'mian'], { input: 'hello' });
    expect(status).toBe(4);
    expect(stderr).toContain('Did you mean "main"?');
    expect(existsSync(join(home, 'agents/mian'))).toBe(false);
    mkdirSync(join(home, 'reprise'));
    const agents = { helper: { systemPrompt: 'You help.' } };
    writeFileSync(join(home, 'reprise/config.json'), JSON.stringify({ agents }));
    const env = { XDG_CONFIG_HOME: home };
    const helper = await reprise(['--agent', 'helper'], { input: 'hello\n/status', env });
    expect(helper.stdout).toContain('agent:helper:main');
  });

  test('--ephemeral stores nothing', async () => {
    const { stdout, stderr } = await reprise(['--ephemeral', '--home', join(home, 'none')], {
      input: 'my name is Ada\nwhat is my name?',
    });
    expect(stderr).toContain('Nothing in this chat is stored.');
    expect(stdout).toContain('your name is Ada');
    expect(existsSync(join(home, 'none'))).toBe(false);
  });
});

describe('which model answers', { timeout: 180_000 }, () => {
  test('a key that is set is used and named', async () => {
    await using server = await openAnthropicServer({ apiKey: 'sk-test', script: [answer('bonjour')] });
    const env = { ANTHROPIC_API_KEY: 'sk-test', ANTHROPIC_BASE_URL: server.url };
    const { stdout, stderr } = await reprise([], { input: 'hello', env });
    expect(stdout).toBe('bonjour\n');
    expect(stderr).toMatch(/^Model: anthropic:\S+ \(ANTHROPIC_API_KEY is set\)\.$/m);
    expect(stderr).not.toContain('sk-test');
    expect(server.requests).toHaveLength(1);
  });

  test('the same for OpenAI, at the address that is set', async () => {
    await using server = await openOpenAiServer({ apiKey: 'sk-open', script: [answer('salut')] });
    const env = { OPENAI_API_KEY: 'sk-open', OPENAI_BASE_URL: server.url };
    const { stdout, stderr } = await reprise([], { input: 'hello', env });
    expect(stdout).toBe('salut\n');
    expect(stderr).toMatch(/^Model: openai:\S+ \(OPENAI_API_KEY is set\)\.$/m);
  });

  test('a model that is named wins over a key that is set', async () => {
    const env = { ANTHROPIC_API_KEY: 'sk-test', ANTHROPIC_BASE_URL: 'http://127.0.0.1:1/v1' };
    const { stdout, stderr } = await reprise(['--model', 'offline'], { input: 'hello', env });
    expect(stdout).toContain('You said: "hello"');
    expect(stderr).toContain('Model: offline');
  });

  test('--model wins over the model a session has stored, until /model chooses another', async () => {
    {
      await using engine = await openReprise({ home, run: false });
      await engine.store.create({ id: 'old', key: 'agent:main:main', settings: { model: 'nowhere:at-all' } });
      await engine.store.activate('agent:main:main', 'old');
    }
    const one = await reprise(['-s', 'old', '-p', 'hello', '--model', 'offline']);
    expect(one).toMatchObject({ status: 0, stdout: expect.stringContaining('You said: "hello"') });
    const lines = ['/model', 'hi', '/model offline:error', 'hi again', '/model'].join('\n');
    const chat = await reprise(['-s', 'old', '--model', 'offline'], { input: lines });
    expect(chat.stdout).toContain('You said: "hi"');
    const all = chat.stdout + chat.stderr;
    expect(all).toContain('is set to the model nowhere:at-all; --model overrides it');
    expect(all).toMatch(/Model: offline, chosen with --model/);
    expect(all).toMatch(/Model: offline:error, chosen for this session/);
    expect(chat.stderr).toMatch(/\(MODEL_/);
  });

  /** A session as an import with --accept-settings leaves it, with a model that no provider here has. */
  async function storeSession(id: string, key: string, settings: Record<string, string>): Promise<void> {
    await using engine = await openReprise({ home, run: false });
    await engine.store.create({ id, key, settings });
    await engine.store.activate(key, id);
  }
  const IMPORTED = { providerOverride: 'mock', modelOverride: 'mock-1' };
  const NOTICE =
    'The model of this session, mock:mock-1, is not available here, so offline answers instead. No provider has a model with the name "mock:mock-1". Use offline, offline:slow|error|overflow|orphan-tool, anthropic:<id>, openai:<id>, openai-compatible:<id>, ollama:<id> or llamacpp:<id>.';

  test('a stored model that is not available is one line of notice, and another answers: -p, --json, chat', async () => {
    await storeSession('old', 'agent:main:main', IMPORTED);
    const one = await reprise(['-s', 'agent:main:main', '-p', 'hello']);
    expect(one).toMatchObject({ status: 0, stderr: `${NOTICE}\n` });
    expect(one.stdout).toMatch(/^You said: "hello"/);
    const json = await reprise(['-s', 'agent:main:main', '-p', 'hello', '--json']);
    expect(json).toMatchObject({ status: 0, stderr: `${NOTICE}\n` });
    expect(JSON.parse(json.stdout)).toMatchObject({ model: 'offline', fallback: { wanted: 'mock:mock-1' } });
    const chat = await reprise([], { input: 'hello\nhello again\n/model\n/model default\n/model' });
    expect(chat.status).toBe(0);
    expect(chat.stderr.split('\n').filter((text) => text.startsWith('The model of'))).toEqual([NOTICE]);
    expect(chat.stderr).toMatch(
      /^Model: offline, configured for all agents \(this session names mock:mock-1, which is not available here\)\nNo provider/m,
    );
    expect(chat.stderr).toMatch(/^Model: offline, configured for all agents$/m);
  });

  test('--model wins in the session of a subagent too, when the user opens it', async () => {
    const key = 'agent:main:subagent:5f0c1f7e-4a49-4a1c-9f7e-0a6b9b1c2d3e';
    const settings = { model: 'offline:error', spawnedBy: 'agent:main:main' };
    await storeSession('child', key, settings);
    expect((await reprise(['-s', 'child', '-p', 'hello'])).stderr).toContain('(MODEL_FAILED)');
    const one = await reprise(['-s', 'child', '-p', 'hello', '--model', 'offline']);
    expect(one).toMatchObject({ status: 0, stdout: expect.stringMatching(/^You said: "hello"/), stderr: '' });
  });

  test('serve --model wins over stored models, until a session is given another while it runs', async () => {
    await storeSession('old', 'agent:main:main', { model: 'offline:error' });
    await using server = await startServer(home, ['--model', 'offline']);
    const env = { REPRISE_URL: server.url, REPRISE_TOKEN_FILE: server.tokenFile };
    expect((await reprise(['-s', 'old', '-p', 'hello'], { env })).stdout).toMatch(/^You said: "hello"/);
    const chat = await reprise(['-s', 'old'], { input: '/model\n/model offline:error\nhello\n/model', env });
    expect(chat.stderr).toMatch(/^Model: offline, chosen with --model/m);
    expect(chat.stderr).toContain('(MODEL_FAILED)');
    expect(chat.stderr).toMatch(/^Model: offline:error, chosen for this session/m);
  });

  test('a key that is refused is reported with the next step, and the chat continues', async () => {
    await using server = await openAnthropicServer({ apiKey: 'another', script: [answer('never')] });
    const env = { ANTHROPIC_API_KEY: 'sk-test', ANTHROPIC_BASE_URL: server.url };
    const { status, stdout, stderr } = await reprise([], { input: 'hello\n/model offline\n/retry', env });
    expect(status).toBe(0);
    expect(stderr).toMatch(/^reprise: .+ \(MODEL_AUTH\)\nCheck the key of this provider/m);
    expect(stdout).toContain('You said: "hello"');
    expect(server.requests).toEqual([]);
  });

  test('one question with a refused key prints the hint and leaves no session', async () => {
    await using server = await openAnthropicServer({ apiKey: 'another', script: [answer('never')] });
    const env = { ANTHROPIC_API_KEY: 'sk-test', ANTHROPIC_BASE_URL: server.url };
    const { status, stderr } = await reprise(['-p', 'hello'], { env });
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/^reprise: .+ \(MODEL_AUTH\)\nCheck the key of this provider[^\n]*\n$/);
    await using engine = await openReprise({ home, run: false });
    expect((await engine.sessions()).sessions).toEqual([]);
    // A session that was there is not discarded with the question.
    await engine.session('agent:main:main');
    const again = await reprise(['-c', '-p', 'hello'], { env });
    expect(again.stderr).toMatch(/Check the key of this provider.*\nThe question is stored: reprise -s /);
    expect((await engine.sessions()).sessions).toHaveLength(1);
  });

  test('without a key offline answers and says so; servers on this machine are named, not used', async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.end(JSON.stringify({ object: 'list', data: [{ id: 'tiny:1b' }] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const env = { REPRISE_MODELS_OLLAMA_BASE_URL: `http://127.0.0.1:${port}/v1` };
    const { stdout, stderr } = await reprise([], { input: 'hello', env });
    server.close();
    expect(stdout).toContain('You said: "hello"');
    const [where, who, what] = stderr.split('\n');
    expect(where).toContain(home);
    expect(who).toMatch(
      /^Model: offline, .*ANTHROPIC_API_KEY or OPENAI_API_KEY.*To use it: --model ollama:tiny:1b/,
    );
    expect(what).toContain('/help');
    expect(asked).toEqual(['GET /v1/models']);
  });
});
