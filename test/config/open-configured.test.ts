import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { modelBookFor } from '../../src/config/model-book-for.ts';
import { openConfigured } from '../../src/config/open-configured.ts';
import type { Config } from '../../src/config/schema.ts';
import { openOpenAiServer } from '../../testing/wire/openai-server.ts';
import { ConfigHome } from '../support/processes/config-home.ts';

async function configOf(home: ConfigHome, env: NodeJS.ProcessEnv = {}): Promise<Config> {
  return (await loadConfig({ env: { ...home.env, REPRISE_HOME: 'home', ...env }, cwd: home.cwd })).config;
}

describe('an engine as configured', () => {
  test('keeps conversations in transcripts in the home, without any setting', async () => {
    using home = new ConfigHome();
    const config = await configOf(home);
    {
      await using reprise = await openConfigured(config, { run: false });
      const session = await reprise.session('agent:main:main');
      expect((await session.send('my name is Ada').result).text).not.toBe('');
    }
    expect(existsSync(join(config.home, 'agents', 'main', 'sessions'))).toBe(true);
    await using again = await openConfigured(config, { run: false });
    const { messageCount } = await (await again.session('agent:main:main')).record();
    expect(messageCount).toBe(2);
  });

  test.each([
    [{ REPRISE_STORE: 'memory' }, false],
    [{ REPRISE_SESSION_ENABLED: 'false' }, false],
    [{ REPRISE_STORE: 'sqlite' }, true],
  ])('keeps what the store keeps: %j', async (env, isKept) => {
    using home = new ConfigHome();
    const config = await configOf(home, env);
    await using reprise = await openConfigured(config, { run: false });
    await (await reprise.session('agent:main:main')).send('hello').result;
    expect(existsSync(config.home)).toBe(isKept);
    expect(existsSync(join(config.home, 'agents', 'main', 'sessions'))).toBe(false);
  });

  test('gives every agent its own prompt, model and rules', async () => {
    using home = new ConfigHome();
    home.user({
      agents: { coder: { systemPrompt: 'You write code.', model: 'offline:slow' } },
      session: { mainKey: 'home' },
    });
    await using reprise = await openConfigured(await configOf(home), { run: false });
    const session = await reprise.session('agent:coder:main');
    await session.send('hello').result;
    const { settings } = await session.record();
    expect(settings['systemPrompt']).toContain('You write code.');
  });

  test('says which variable is missing, and leaves no store behind', async () => {
    using home = new ConfigHome();
    const missing = async (model: string): Promise<unknown> =>
      openConfigured(await configOf(home, { REPRISE_MODEL: model })).catch((error: unknown) => error);
    expect(await missing('anthropic:claude')).toMatchObject({
      code: 'MODEL_AUTH',
      details: { next: expect.stringContaining('Set ANTHROPIC_API_KEY') },
    });
    expect(await missing('openai-compatible:x')).toMatchObject({
      code: 'CONFIG_INVALID',
      details: { next: expect.stringContaining('REPRISE_MODELS_OPENAI_COMPATIBLE_BASE_URL') },
    });
    expect(await missing('nobody:x')).toMatchObject({ code: 'MODEL_UNKNOWN' });
    expect(existsSync(join(home.cwd, 'home'))).toBe(false);
  });

  test('a server on this machine is used when it is named, and never receives the key of another provider', async () => {
    await using server = await openOpenAiServer({
      script: [{ blocks: [{ type: 'text', text: 'hello from here' }] }],
    });
    using home = new ConfigHome();
    home.user({ models: { ollama: { baseURL: server.url }, openai: { apiKey: 'key-of-openai' } } });
    const config = await configOf(home, {
      REPRISE_MODEL: 'ollama:qwen3:8b',
      ANTHROPIC_API_KEY: 'key-of-anthropic',
    });
    await using reprise = await openConfigured(config, { run: false });
    const { text } = await (await reprise.session('agent:main:main')).send('hello').result;
    expect(text).toBe('hello from here');
    const [request] = server.requests;
    expect(request?.body['model']).toBe('qwen3:8b');
    expect(JSON.stringify(request?.headers)).not.toMatch(/key-of|authorization/);
  });

  test('a model that is chosen later gets the configuration of its provider', async () => {
    using home = new ConfigHome();
    const models = modelBookFor(await configOf(home, { OPENAI_API_KEY: 'k' }));
    expect((await models.load('openai:gpt-5')).id).toBe('gpt-5');
    expect((await models.load('llamacpp:any')).provider).toBe('llamacpp');
    await expect(models.load('anthropic:claude')).rejects.toMatchObject({ code: 'MODEL_AUTH' });
    expect(models.get('openai:gpt-5')).toBeDefined();
  });
});
