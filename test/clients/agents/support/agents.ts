import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { contentText, readBlocks } from '../../../../src/transcript/content.ts';
import {
  type MergeFormat,
  type ReadMessage,
  readMessages,
} from '../../../../src/transcript/merge/read-messages.ts';
import type { FakeProvider, FakeRequest } from './fake-provider.ts';

export type AgentName = 'claude-code' | 'codex' | 'pi';
export const AGENTS: readonly AgentName[] = ['claude-code', 'codex', 'pi'];

const MODULES = join(import.meta.dirname, '..', 'node_modules');
const REPRISE = join(import.meta.dirname, '../../../../bin/reprise.cjs');
const TIMEOUT_MS = 90_000;

/** A folder that is a machine of its own: the homes of the agents, of Reprise, and a project. */
export class Machine implements Disposable {
  readonly home: string = mkdtempSync(join(tmpdir(), 'reprise-agents-'));
  readonly project: string = join(this.home, 'my_project');
  readonly #provider: FakeProvider;

  constructor(provider: FakeProvider) {
    this.#provider = provider;
    mkdirSync(this.project);
    writeFileSync(join(this.project, 'a.txt'), 'apple');
    writeFileSync(join(this.project, 'b.txt'), 'berry');
    const { url } = provider;
    this.#write(
      '.codex/config.toml',
      [
        'model = "gpt-5-codex"',
        'model_provider = "fake"',
        '[model_providers.fake]',
        'name = "fake"',
        `base_url = "${url}/v1"`,
        'wire_api = "responses"',
        'env_key = "FAKE_KEY"',
      ].join('\n'),
    );
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    const model = {
      id: 'fake-1',
      name: 'fake',
      reasoning: false,
      input: ['text'],
      contextWindow: 128_000,
      maxTokens: 4096,
      cost,
    };
    const fake = { baseUrl: `${url}/v1`, api: 'openai-completions', apiKey: 'x', models: [model] };
    this.#write('.pi/agent/models.json', JSON.stringify({ providers: { fake } }));
  }

  [Symbol.dispose](): void {
    rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
  }

  #write(name: string, text: string): void {
    mkdirSync(dirname(join(this.home, name)), { recursive: true });
    writeFileSync(join(this.home, name), text);
  }

  reprise(...args: readonly string[]): Promise<string> {
    return this.run(process.execPath, [REPRISE, '--home', join(this.home, 'reprise'), ...args]);
  }

  /** One prompt without a terminal; `session` resumes a session. */
  ask(agent: AgentName, prompt: string, session?: string, more: readonly string[] = []): Promise<string> {
    switch (agent) {
      case 'claude-code': {
        const resume = session === undefined ? [] : ['--resume', session];
        return this.run(binary('claude'), [
          '-p',
          ...resume,
          '--allowedTools=Bash,Read',
          ...more,
          '--',
          prompt,
        ]);
      }
      case 'codex': {
        const options = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', ...more];
        const resume = session === undefined ? [] : ['resume', session];
        return this.run(process.execPath, [
          join(MODULES, '@openai/codex/bin/codex.js'),
          'exec',
          ...options,
          ...resume,
          prompt,
        ]);
      }
      case 'pi': {
        const resume = session === undefined ? [] : ['--session', session];
        const cli = join(MODULES, '@mariozechner/pi-coding-agent/dist/cli.js');
        return this.run(process.execPath, [
          cli,
          '--provider',
          'fake',
          '--model',
          'fake-1',
          ...resume,
          ...more,
          '-p',
          prompt,
        ]);
      }
    }
  }

  run(program: string, args: readonly string[]): Promise<string> {
    const env = {
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      HOME: this.home,
      ANTHROPIC_BASE_URL: this.#provider.url,
      ANTHROPIC_API_KEY: 'x',
      FAKE_KEY: 'x',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      // All tools are in the request, also those of MCP servers.
      ENABLE_TOOL_SEARCH: 'false',
      NO_COLOR: '1',
    };
    return new Promise((resolve, reject) => {
      const child = spawn(program, args, { cwd: this.project, env, stdio: ['ignore', 'pipe', 'pipe'] });
      const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
      let stdout = '';
      let stderr = '';
      child.stdout.on('data', (data) => (stdout += data));
      child.stderr.on('data', (data) => (stderr += data));
      child.once('error', reject);
      child.once('close', (code) => {
        clearTimeout(timer);
        if (code === 0) resolve(stdout);
        else reject(new Error(`${program} ${args.join(' ')} ended with ${code}:\n${stdout}\n${stderr}`));
      });
    });
  }
}

/** The package of the platform has the program; the launcher beside it is made by an install script. */
function binary(name: 'claude'): string {
  const platform = `@anthropic-ai/claude-code-${process.platform}-${process.arch}`;
  return join(dirname(createRequire(join(MODULES, 'x.js')).resolve(`${platform}/package.json`)), name);
}

export const FORMATS: readonly (readonly [RegExp, MergeFormat, string])[] = [
  [/\/messages$/, 'anthropic', 'messages'],
  [/\/responses$/, 'openai-responses', 'input'],
  [/\/chat\/completions$/, 'openai', 'messages'],
];

export function messagesIn({ path, body }: FakeRequest): readonly ReadMessage[] {
  const [, format, field] = FORMATS.find(([pattern]) => pattern.test(path)) ?? [];
  const messages = field === undefined ? undefined : body[field];
  return format !== undefined && Array.isArray(messages) ? readMessages(messages, format) : [];
}

/** The words, calls and results of a request, in order, each on a line. Names and arguments of calls differ by agent. */
export function spokenIn(request: FakeRequest | undefined): string {
  return request === undefined ? '' : messagesIn(request).map(lineOf).join('\n');
}

function lineOf(message: ReadMessage): string {
  if (message.role === 'toolResult') return `result ${message.toolCallId}: ${contentText(message.content)}`;
  const calls = readBlocks(message.content).flatMap((block) =>
    block.type === 'toolCall'
      ? [`call ${String(block.block['id'])} ${JSON.stringify(block.block['arguments'])}`]
      : [],
  );
  return [`${message.role}: ${contentText(message.content)}`, ...calls].join('\n');
}

/** Asserts by position, so that a message that is missing, doubled or out of order is found. */
export function positionsOf(texts: readonly string[], said: string): number[] {
  let from = 0;
  return texts.map((text) => {
    const at = said.indexOf(text, from);
    if (at !== -1) from = at + text.length;
    return at;
  });
}
