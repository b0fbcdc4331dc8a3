import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { openConfigured } from '../../src/config/open-configured.ts';
import { ConfigHome } from '../support/processes/config-home.ts';

const MODULE = `export default [{
  name: 'double',
  description: 'Doubles a number',
  inputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  run: ({ n }) => ({ doubled: n * 2 }),
}];`;
const FUNCTION = `export default async ({ key }) => [{
  name: 'where', description: 'The key', inputSchema: { type: 'object' }, run: () => key,
}];`;

const load = (home: ConfigHome) =>
  loadConfig({ env: { ...home.env, REPRISE_STORE: 'memory', REPRISE_HOME: 'home' }, cwd: home.cwd });

test('modules of the configuration bring tools, relative to the file that names them', async () => {
  using home = new ConfigHome();
  writeFileSync(join(home.folder, 'one.mjs'), MODULE);
  writeFileSync(join(home.folder, 'two.mjs'), FUNCTION);
  home.user({ tools: ['./one.mjs', './two.mjs'] });
  await using reprise = await openConfigured((await load(home)).config);
  const session = await reprise.session('agent:main:main');
  const { text } = await session.send('call double with {"n": 21}').result;
  expect(text).toContain('42');
  expect((await session.send('call where with {}').result).text).toContain('agent:main:main');
});

test('I-41 a folder that is not trusted cannot make Reprise run its module', async () => {
  using home = new ConfigHome();
  writeFileSync(join(home.cwd, 'evil.mjs'), 'globalThis.wasRun = true; export default [];');
  home.project({ tools: ['./evil.mjs'] });
  const { config, warnings } = await load(home);
  expect(config.tools).toBeUndefined();
  expect(warnings.join()).toContain('tools ignored');
  await (await openConfigured(config))[Symbol.asyncDispose]();
  expect((globalThis as Record<string, unknown>)['wasRun']).toBeUndefined();
});

test('a module that cannot be used is named, with what it should export', async () => {
  using home = new ConfigHome();
  const refused = async (source: string | undefined): Promise<unknown> => {
    const file = join(home.folder, `${Math.abs(source?.length ?? -1)}.mjs`);
    if (source !== undefined) writeFileSync(file, source);
    home.user({ tools: [file] });
    return openConfigured((await load(home)).config).catch((error: unknown) => error);
  };
  for (const source of [undefined, 'export const tools = [];', 'syntax error', 'export default [{}]; '])
    expect(await refused(source)).toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('.mjs'),
    });
});
