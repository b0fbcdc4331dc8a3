import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { configPage } from '../../scripts/config-doc.ts';
import { typesAt } from '../../src/config/allowed.ts';
import { envName, envPaths, SETTINGS, settingAt } from '../../src/config/settings.ts';
import { ConfigHome } from '../support/processes/config-home.ts';
import { SAMPLES, treeOf, valueAt } from '../support/processes/config-samples.ts';

const ROWS = SETTINGS.map(({ path }) => path);
const samples = Object.entries(SAMPLES);

describe('the table of settings', () => {
  test('has a sample here for every row, and no row twice', () => {
    expect(new Set(ROWS).size).toBe(ROWS.length);
    const covered = new Set(Object.keys(SAMPLES).map((path) => settingAt(path)?.path));
    expect(ROWS.filter((path) => !covered.has(path))).toEqual([]);
  });

  test('and the schema name the same settings', () => {
    const leaves = (path: readonly string[]): string[] => {
      if (settingAt(path.join('.')) !== undefined) return [path.join('.')];
      const [type] = typesAt(path);
      if (type instanceof z.ZodObject)
        return Object.keys(type.shape).flatMap((name) => leaves([...path, name]));
      return type instanceof z.ZodRecord ? leaves([...path, '*']) : [`${path.join('.')} has no row`];
    };
    const found = leaves([]).map((path) => path.replace(/^models\.[^.]+/, 'models.*'));
    expect([...new Set(found)].sort()).toEqual([...ROWS].sort());
  });

  test('gives every variable one setting, and every setting but those of agents its variable', () => {
    const paths = envPaths();
    expect(new Set(paths.values()).size).toBe(paths.size);
    expect(envName('home')).toBe('REPRISE_HOME');
    expect(envName('model')).toBe('REPRISE_MODEL');
    expect(envName('store.kind')).toBe('REPRISE_STORE');
    expect(envName('server.port')).toBe('REPRISE_PORT');
    expect(envName('server.token')).toBe('REPRISE_TOKEN');
    expect(envName('store.sessionCacheTtlMs')).toBe('REPRISE_SESSION_CACHE_TTL_MS');
    expect(envName('models.anthropic.apiKey')).toBe('ANTHROPIC_API_KEY');
    expect(envName('models.openai.baseURL')).toBe('OPENAI_BASE_URL');
    expect(envName('models.openai-compatible.baseURL')).toBe('REPRISE_MODELS_OPENAI_COMPATIBLE_BASE_URL');
    expect(envName('server.limits.bodyBytes')).toBe('REPRISE_SERVER_LIMITS_BODY_BYTES');
    expect(envName('agents.main.model')).toBeUndefined();
  });

  test.each(samples)(
    "%s in the user's file is taken, and the file is named as its origin",
    async (path, value) => {
      using home = new ConfigHome();
      const { config, origins, warnings } = await home.user(treeOf(path, value)).load();
      expect(valueAt(config, path)).toEqual(value);
      expect(origins.get(path)).toEqual({ source: 'user', name: home.userFile });
      expect(warnings).toEqual([]);
    },
  );

  test.each(samples.filter(([path]) => envName(path) !== undefined))(
    '%s is taken from its variable',
    async (path, value) => {
      using home = new ConfigHome();
      const name = envName(path) ?? '';
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      const { config, origins, warnings } = await home.load({ [name]: text });
      expect(valueAt(config, path)).toEqual(value);
      expect(origins.get(path)).toEqual({ source: 'env', name });
      expect(warnings).toEqual([]);
    },
  );

  test('lists are written with commas, and a switch as true or false', async () => {
    using home = new ConfigHome();
    const { config } = await home.load({
      REPRISE_SERVER_ALLOWED_HOSTS: 'a.example, b.example',
      REPRISE_SERVER_CORS_ORIGINS: 'https://a.example,https://b.example',
      REPRISE_COMPACTION_BACKGROUND: 'false',
      REPRISE_COMPACTION_MEMORY_FLUSH: '1',
    });
    expect(config.server.allowedHosts).toEqual(['a.example', 'b.example']);
    expect(config.server.cors.origins).toEqual(['https://a.example', 'https://b.example']);
    expect(config.compaction).toEqual({ background: false, memoryFlush: true });
  });

  test('is what docs/config.md lists (npm run docs writes it)', () => {
    const page = readFileSync('docs/config.md', 'utf8');
    expect(configPage(page)).toBe(page);
    for (const { path } of SETTINGS)
      expect(page).toContain(
        `| \`${path.replace(/\*/, path.startsWith('models') ? '<provider>' : '<id>')}\` |`,
      );
  });

  test('and the example in docs/ is a valid file', async () => {
    using home = new ConfigHome();
    const text = readFileSync('docs/reprise.config.example.json', 'utf8');
    const { config, warnings } = await home.user(text).load();
    expect(warnings).toEqual([]);
    expect(config).toMatchObject({ model: 'anthropic:claude-sonnet-4-5', server: { port: 4747 } });
    expect(config.agents['local']?.workspace).toBe(join(home.folder, 'notes'));
  });
});
