import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { settingAt } from '../../src/config/settings.ts';
import { ConfigHome } from '../support/processes/config-home.ts';
import { SAMPLES, treeOf, valueAt } from '../support/processes/config-samples.ts';

/** What an untrusted folder may change: how conversations go, never which model answers, what tools touch, or what is stored or logged. */
const HARMLESS: readonly string[] = [
  'store.sessionCacheTtlMs',
  'models.openai.contextWindow',
  'models.openai.maxOutput',
  'models.openai.idleTimeoutMs',
  'models.openai.cost',
  'models.openai-compatible.family',
  'models.openai-compatible.includeUsage',
  'contextTokens',
  'profile',
  'maxSteps',
  'stuckAfterMs',
  'compaction.cut',
  'compaction.trigger',
  'compaction.background',
  'compaction.summaryTimeoutMs',
  'agents.main.contextTokens',
  'agents.main.profile',
  'session.historyLimit',
  'session.historyTurns',
  'session.historyTurnsByType',
  'session.historyTurnsByChannel',
  'session.historyTurnsBySender',
  'session.reset',
  'session.resetByType',
  'session.resetByChannel',
  'session.timeZone',
  'session.resetTriggers',
  'session.queue',
  'session.threads',
  'lanes.turns',
  'lanes.children',
  'lanes.background',
  'server.port',
  'log.format',
];

describe('a config file of the current folder', () => {
  test.each(Object.entries(SAMPLES))('%s', async (path, value) => {
    using home = new ConfigHome();
    home.project(treeOf(path, value));
    const isHarmless = HARMLESS.includes(path);
    const untrusted = await home.load();
    expect(untrusted.files.ignored).toEqual(isHarmless ? [] : [path]);
    if (isHarmless) expect(valueAt(untrusted.config, path)).toEqual(value);
    else {
      expect(valueAt(untrusted.config, path)).not.toEqual(value);
      expect(untrusted.warnings).toEqual([
        `${home.projectFile} is not trusted: ${path} ignored. To allow it: reprise config trust`,
      ]);
    }
    await home.trust();
    const trusted = await home.load();
    expect(trusted.warnings).toEqual([]);
    expect(valueAt(trusted.config, path)).toEqual(value);
  });

  test('the model, the log level, base URLs, keys, tools, workspaces, the home, the store, the address and the token need trust', () => {
    const guarded =
      /(?:^|\.)model$|log\.level|apiKey|baseURL|headers|tools|workspace|home|url|host|token$|tokenFile|cors|allow|sandbox|systemPrompt/i;
    for (const path of Object.keys(SAMPLES).filter((each) => guarded.test(each)))
      expect(settingAt(path)?.free, path).toBeUndefined();
  });

  test('is named in one warning with every setting that was ignored', async () => {
    using home = new ConfigHome();
    home.project({
      model: 'anthropic:dear',
      log: { level: 'silent' },
      maxSteps: 7,
      home: '/x',
      server: { host: '0.0.0.0', port: 1 },
      agents: { main: { tools: {} } },
    });
    const { warnings, config } = await home.load();
    expect(warnings).toEqual([
      expect.stringContaining('model, log.level, home, server.host, agents.main.tools ignored'),
    ]);
    expect(warnings[0]).toContain('reprise config trust');
    expect([config.model, config.log.level, config.maxSteps]).toEqual(['offline', 'info', 7]);
  });

  test('must be trusted again after a change of one byte', async () => {
    using home = new ConfigHome();
    home.project('{"home": "/a"}');
    await home.trust();
    expect((await home.load()).config.home).toBe('/a');
    home.project('{"home": "/b"}');
    expect((await home.load()).files.ignored).toEqual(['home']);
    home.project('{"home": "/a"} ');
    expect((await home.load()).files.ignored).toEqual(['home']);
    home.project('{"home": "/a"}');
    expect((await home.load()).files.ignored).toEqual([]);
  });

  test('is trusted by its real path: not a copy elsewhere, but through any link to it', async () => {
    using home = new ConfigHome();
    home.project('{"home": "/a"}');
    await home.trust();
    const copy = join(home.root, 'copy');
    mkdirSync(copy);
    writeFileSync(join(copy, 'reprise.config.json'), readFileSync(home.projectFile));
    expect((await loadConfig({ env: home.env, cwd: copy })).files.ignored).toEqual(['home']);
    const linked = join(home.root, 'linked');
    symlinkSync(home.cwd, linked);
    expect((await loadConfig({ env: home.env, cwd: linked })).files.ignored).toEqual([]);
    renameSync(home.cwd, join(home.root, 'moved'));
    expect((await loadConfig({ env: home.env, cwd: join(home.root, 'moved') })).files.ignored).toEqual([
      'home',
    ]);
  });

  test('is stored in a file that no other user can read, beside earlier trust', async () => {
    using home = new ConfigHome();
    home.project('{"home": "/a"}');
    await home.trust();
    const other = join(home.root, 'other');
    mkdirSync(other);
    writeFileSync(join(other, 'reprise.config.json'), '{"home": "/b"}');
    const { files } = await loadConfig({ env: home.env, cwd: other });
    if (files.trust === undefined) throw new Error('nothing to trust');
    const { rememberTrust } = await import('../../src/config/trust.ts');
    const file = rememberTrust(files.folder, files.trust);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await home.load()).files.ignored).toEqual([]);
    expect((await loadConfig({ env: home.env, cwd: other })).files.ignored).toEqual([]);
    expect(readdirSync(home.folder)).toEqual(['trusted.json']);
  });

  test('is not trusted if the list cannot be read, with a warning', async () => {
    using home = new ConfigHome();
    home.project('{"home": "/a"}');
    for (const broken of ['', '[]', '{"trusted": 5}', 'x'.repeat(10)]) {
      writeFileSync(join(home.folder, 'trusted.json'), broken);
      await expect(home.load()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    }
    home.project('{"maxSteps": 7}');
    expect((await home.load()).config.maxSteps).toBe(7);
  });

  test('of the user needs no trust', async () => {
    using home = new ConfigHome();
    home.user({ home: '/a', server: { host: '0.0.0.0' } });
    const { config, warnings } = await home.load();
    expect([config.home, config.server.host, warnings]).toEqual(['/a', '0.0.0.0', []]);
  });
});
