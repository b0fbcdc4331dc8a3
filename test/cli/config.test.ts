import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { registerConfig } from '../../src/cli/register/register-config.ts';
import { SETTINGS } from '../../src/config/settings.ts';
import { COMMAND } from '../support/processes/bundled-command.ts';
import { ConfigHome } from '../support/processes/config-home.ts';

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function reprise(home: ConfigHome, args: readonly string[], env: NodeJS.ProcessEnv = {}): Ran {
  const { PATH } = process.env;
  const bin = COMMAND;
  return spawnSync(process.execPath, [bin, ...args], {
    encoding: 'utf8',
    cwd: home.cwd,
    env: { PATH, ...home.env, ...env },
  });
}

describe('reprise config', () => {
  test('prints every value with its source, and no secret', () => {
    using home = new ConfigHome();
    home.project({ maxSteps: 7 });
    home.user({
      store: { url: 'postgres://ada:pa55word@db.example/x' },
      models: { openai: { headers: { 'x-k': 'hidden1' } } },
    });
    const env = { REPRISE_PORT: '81', REPRISE_TOKEN: 'tok3n-very', ANTHROPIC_API_KEY: 'sk-ant-secret1' };
    const { status, stdout, stderr } = reprise(home, ['config', '--home', 'here'], env);
    expect(status).toBe(0);
    expect(stderr).toBe('');
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/\s{2,}/));
    expect(lines).toContainEqual(['home', join(home.cwd, 'here'), '(from --home)']);
    expect(lines).toContainEqual(['maxSteps', '7', `(from ${home.projectFile})`]);
    expect(lines).toContainEqual(['server.port', '81', '(from REPRISE_PORT)']);
    expect(lines).toContainEqual(['server.host', '127.0.0.1', '(default)']);
    expect(lines).toContainEqual(['server.token', '********', '(from REPRISE_TOKEN)']);
    expect(lines).toContainEqual(['models.anthropic.apiKey', '********', '(from ANTHROPIC_API_KEY)']);
    expect(stdout).toContain('postgres://ada:********@db.example/x');
    expect(stdout).not.toMatch(/pa55word|tok3n|secret1|hidden1/);
  });

  test('prints the same with --json for programs', () => {
    using home = new ConfigHome();
    home.project({ server: { host: '0.0.0.0', port: 99 } });
    const { status, stdout } = reprise(home, ['config', '--json'], { OPENAI_API_KEY: 'sk-secret-123' });
    expect(status).toBe(0);
    const { data, ...rest } = JSON.parse(stdout) as { data: unknown[] };
    expect(data).toContainEqual({
      path: 'server.port',
      value: 99,
      origin: { source: 'project', name: home.projectFile },
    });
    expect(data).toContainEqual({
      path: 'server.host',
      value: '127.0.0.1',
      origin: { source: 'default', name: 'default' },
    });
    expect(rest).toMatchObject({
      hasMore: false,
      files: { project: home.projectFile, user: home.userFile },
      ignored: ['server.host'],
      warnings: [expect.stringContaining('reprise config trust')],
    });
    expect(stdout).not.toContain('secret-123');
  });

  test('trust shows and allows the present content of the file, and asks again after a change', () => {
    using home = new ConfigHome();
    home.project({ server: { host: '0.0.0.0', token: 'tok3n-very' } });
    expect(reprise(home, ['config']).stderr).toContain('server.host, server.token ignored');
    const { status, stdout, stderr } = reprise(home, ['config', 'trust']);
    expect(status).toBe(0);
    expect(stdout).toContain('server.host  "0.0.0.0"');
    expect(stdout).not.toContain('tok3n-very');
    expect(stderr).toContain('it must be trusted again');
    expect(statSync(join(home.folder, 'trusted.json')).mode & 0o777).toBe(0o600);
    const trusted = reprise(home, ['config']);
    expect(trusted.stderr).toBe('');
    expect(trusted.stdout).toMatch(/server\.host +0\.0\.0\.0 +\(from .*reprise\.config\.json\)/);
    home.project({ server: { host: '::' } });
    expect(reprise(home, ['config']).stderr).toContain('server.host ignored');
  });

  test('trust without a file reports that', () => {
    using home = new ConfigHome();
    expect(reprise(home, ['config', 'trust'])).toMatchObject({
      status: 4,
      stderr: expect.stringContaining('there is no reprise.config.json'),
    });
    home.project({ maxSteps: 7 });
    expect(reprise(home, ['config', 'trust'])).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('sets nothing that needs trust'),
    });
    home.project({ modle: 'offline' });
    expect(reprise(home, ['config', 'trust'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('Did you mean "model"?'),
    });
  });

  test('takes the flag of every setting that has one', () => {
    const program = new Command();
    registerConfig(program);
    const options = program.commands[0]?.options.map((option) => option.attributeName()) ?? [];
    const flags = SETTINGS.flatMap(({ flag }) => (flag === undefined ? [] : [flag]));
    expect(options.sort()).toEqual([...flags, 'json'].sort());
  });
});
