import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ConfigHome } from '../support/processes/config-home.ts';
import { treeOf, valueAt } from '../support/processes/config-samples.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

interface Case {
  readonly path: string;
  readonly flag?: string;
  readonly env: string;
  readonly fallback: unknown;
  /** Settings that a file of an untrusted folder may set. */
  readonly free: boolean;
  readonly value: fc.Arbitrary<unknown>;
}

// Written down a second time on purpose: what the table says is what is tested.
const folder = fc.stringMatching(/^[a-z]{1,12}$/).map((name) => `/nowhere/${name}`);
const CASES: readonly Case[] = [
  { path: 'home', flag: 'home', env: 'REPRISE_HOME', fallback: undefined, free: false, value: folder },
  {
    path: 'model',
    flag: 'model',
    env: 'REPRISE_MODEL',
    fallback: 'offline',
    free: false,
    value: fc.stringMatching(/^[a-z]{1,8}:[a-z0-9.-]{1,12}$/),
  },
  {
    path: 'store.kind',
    flag: 'store',
    env: 'REPRISE_STORE',
    fallback: 'jsonl',
    free: false,
    value: fc.constantFrom('memory', 'jsonl', 'sqlite', 'postgres'),
  },
  {
    path: 'server.port',
    flag: 'port',
    env: 'REPRISE_PORT',
    fallback: 4747,
    free: true,
    value: fc.integer({ min: 0, max: 65535 }),
  },
  {
    path: 'server.host',
    flag: 'host',
    env: 'REPRISE_HOST',
    fallback: '127.0.0.1',
    free: false,
    value: fc.constantFrom('0.0.0.0', '::1', 'localhost'),
  },
  {
    path: 'server.token',
    env: 'REPRISE_TOKEN',
    fallback: undefined,
    free: false,
    value: fc.stringMatching(/^[A-Za-z0-9]{1,20}$/),
  },
  {
    path: 'log.level',
    flag: 'logLevel',
    env: 'REPRISE_LOG_LEVEL',
    fallback: 'info',
    free: false,
    value: fc.constantFrom('trace', 'debug', 'warn', 'silent'),
  },
  {
    path: 'store.sessionCacheTtlMs',
    env: 'REPRISE_SESSION_CACHE_TTL_MS',
    fallback: undefined,
    free: true,
    value: fc.integer({ min: 0, max: 999_999_999 }),
  },
  {
    path: 'models.ollama.baseURL',
    env: 'REPRISE_MODELS_OLLAMA_BASE_URL',
    fallback: undefined,
    free: false,
    value: fc.integer({ min: 1, max: 65535 }).map((port) => `http://127.0.0.1:${port}/v1`),
  },
  {
    path: 'session.reset',
    env: 'REPRISE_SESSION_RESET',
    fallback: undefined,
    free: true,
    value: fc.integer({ min: 0, max: 23 }).map((atHour) => ({ mode: 'daily', atHour })),
  },
  {
    path: 'server.cors.origins',
    env: 'REPRISE_SERVER_CORS_ORIGINS',
    fallback: [],
    free: false,
    value: fc.array(
      fc.integer({ min: 1, max: 9 }).map((n) => `https://a${n}.example`),
      { minLength: 1 },
    ),
  },
];

const said = (one: Case): fc.Arbitrary<Partial<Record<'flag' | 'env' | 'project' | 'user', unknown>>> =>
  fc.record({ flag: one.value, env: one.value, project: one.value, user: one.value }, { requiredKeys: [] });

function merge(into: Record<string, unknown>, from: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(from)) {
    const old = into[name];
    if (typeof old === 'object' && old !== null && !Array.isArray(old))
      merge(old as typeof into, value as typeof into);
    else into[name] = value;
  }
}

describe('the order of sources', () => {
  test('in any combination of sources the highest wins, and is named as the origin', async () => {
    await fc.assert(
      fc.asyncProperty(fc.tuple(...CASES.map(said)), fc.boolean(), async (sources, isTrusted) => {
        using home = new ConfigHome();
        const flags: Record<string, unknown> = { json: true, limit: '5' };
        const env: Record<string, string> = {};
        const project: Record<string, unknown> = {};
        const user: Record<string, unknown> = {};
        for (const [i, one] of CASES.entries()) {
          const values = sources[i] ?? {};
          if (one.flag !== undefined && 'flag' in values) flags[one.flag] = String(values.flag);
          if ('env' in values)
            env[one.env] = typeof values.env === 'string' ? values.env : JSON.stringify(values.env);
          if ('project' in values) merge(project, treeOf(one.path, values.project));
          if ('user' in values) merge(user, treeOf(one.path, values.user));
        }
        home.project(project).user(user);
        if (isTrusted) await home.trust();
        const { config, origins, warnings, files } = await home.load(env, flags);
        const ignored: string[] = [];
        for (const [i, one] of CASES.entries()) {
          const values = sources[i] ?? {};
          const hears = isTrusted || one.free;
          if ('project' in values && !hears) ignored.push(one.path);
          const origin = origins.get(one.path);
          const value = valueAt(config, one.path);
          if (one.flag !== undefined && 'flag' in values) {
            expect(value).toEqual(values.flag);
            expect(origin?.source).toBe('flag');
          } else if ('env' in values) {
            expect(value).toEqual(values.env);
            expect(origin).toEqual({ source: 'env', name: one.env });
          } else if ('project' in values && hears) {
            expect(value).toEqual(values.project);
            expect(origin).toEqual({ source: 'project', name: home.projectFile });
          } else if ('user' in values) {
            expect(value).toEqual(values.user);
            expect(origin).toEqual({ source: 'user', name: home.userFile });
          } else if (one.path !== 'home') {
            expect(value).toEqual(one.fallback);
            expect(origin?.source).toBe(one.fallback === undefined ? undefined : 'default');
          }
        }
        expect([...files.ignored].sort()).toEqual(ignored.sort());
        expect(warnings.filter((line) => line.includes('reprise config trust'))).toHaveLength(
          ignored.length > 0 ? 1 : 0,
        );
      }),
      { numRuns: Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 60) },
    );
  });

  test('a home is by default in XDG_DATA_HOME, else ~/.reprise', async () => {
    using home = new ConfigHome();
    const there = await home.load();
    expect(there.config.home).toBe(join(home.root, 'data', 'reprise'));
    expect(there.origins.get('home')).toEqual({ source: 'default', name: 'XDG_DATA_HOME' });
    const plain = await home.load({ XDG_DATA_HOME: '' });
    expect(plain.config.home).toBe(join(homedir(), '.reprise'));
    expect(plain.origins.get('home')).toEqual({ source: 'default', name: 'default' });
  });

  test("a relative XDG_CONFIG_HOME is ignored: it would let a project's folder pass for the user's", async () => {
    using home = new ConfigHome();
    const { files } = await home.load({ XDG_CONFIG_HOME: '.config' });
    expect(files.user).toBe(join(homedir(), '.config', 'reprise', 'config.json'));
  });

  test('a path is relative to its source: the current folder, or the folder of the file', async () => {
    using home = new ConfigHome();
    expect((await home.load({ REPRISE_HOME: 'data' })).config.home).toBe(join(home.cwd, 'data'));
    expect((await home.load({}, { home: '../data' })).config.home).toBe(join(home.root, 'data'));
    home.user({ home: 'data', agents: { main: { workspace: '~/work' } } });
    const { config } = await home.load();
    expect(config.home).toBe(join(home.folder, 'data'));
    expect(config.agents['main']?.workspace).toBe(join(homedir(), 'work'));
  });

  test('an empty variable is not set; a flag without a value is an error', async () => {
    using home = new ConfigHome();
    home.user({ model: 'offline:slow' });
    expect((await home.load({ REPRISE_MODEL: '', REPRISE_PORT: '' })).config.model).toBe('offline:slow');
    await expect(home.load({}, { model: '' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: '--model cannot be empty',
    });
  });

  test('settings of one agent come from several sources', async () => {
    using home = new ConfigHome();
    home.project({ agents: { main: { contextTokens: 20_000 } } });
    home.user({ agents: { main: { contextTokens: 30_000, systemPrompt: 'Be kind.' }, coder: {} } });
    const { config, origins } = await home.load();
    expect(config.agents).toEqual({ main: { contextTokens: 20_000, systemPrompt: 'Be kind.' }, coder: {} });
    expect(origins.get('agents.main.contextTokens')?.source).toBe('project');
    expect(origins.get('agents.main.systemPrompt')?.source).toBe('user');
  });

  test('a key that is set chooses the model, unless a model is named', async () => {
    using home = new ConfigHome();
    const model = async (env: Record<string, string>): Promise<readonly unknown[]> => {
      const { config, origins } = await home.load(env);
      return [config.model.split(':')[0], origins.get('model')?.name];
    };
    expect(await model({})).toEqual(['offline', 'default']);
    expect(await model({ OPENAI_API_KEY: 'k' })).toEqual(['openai', 'OPENAI_API_KEY']);
    expect(await model({ OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' })).toEqual([
      'anthropic',
      'ANTHROPIC_API_KEY',
    ]);
    expect(await model({ ANTHROPIC_API_KEY: 'k', REPRISE_MODEL: 'offline' })).toEqual([
      'offline',
      'REPRISE_MODEL',
    ]);
    // What runs on this machine is used when asked for, never because it is there.
    expect(await model({ REPRISE_MODELS_OLLAMA_BASE_URL: 'http://127.0.0.1:1/v1' })).toEqual([
      'offline',
      'default',
    ]);
    expect(await model({ REPRISE_MODEL: 'ollama:qwen' })).toEqual(['ollama', 'REPRISE_MODEL']);
    home.user({ models: { anthropic: { apiKey: 'k' } } });
    expect(await model({})).toEqual(['anthropic', home.userFile]);
  });

  test('a typing error in a variable is reported, and variables of other programs are left alone', async () => {
    using home = new ConfigHome();
    const { warnings } = await home.load({ REPRISE_MODLE: 'x', REPRISE_PROPERTY_RUNS: '9', MODEL: 'y' });
    expect(warnings).toEqual(['REPRISE_MODLE is no setting. Did you mean REPRISE_MODEL?']);
  });

  test.each([
    ['nothing is said', {}, false],
    ['only names and paths are said', { home: 'x', model: 'offline' }, false],
    ['a number is said', { port: '1' }, true],
  ])(
    'a start does not load the checking library unless there is something to check: %s',
    (_, flags, isLoaded) => {
      using home = new ConfigHome();
      const script = `
      import { registerHooks } from 'node:module';
      const seen = new Set();
      registerHooks({ resolve: (name, context, next) => { seen.add(name); return next(name, context); } });
      const { loadConfig } = await import('./src/config/load.ts');
      await loadConfig(${JSON.stringify({ flags, env: home.env, cwd: home.cwd })});
      console.log(JSON.stringify({ zod: seen.has('zod'), own: seen.has('./settings.ts') }));`;
      const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
        encoding: 'utf8',
      });
      expect(JSON.parse(stdout)).toEqual({ zod: isLoaded, own: true });
    },
  );
});
