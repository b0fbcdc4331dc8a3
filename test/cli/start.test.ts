import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createProgram } from '../../src/cli/main.ts';
import { asStarted } from '../../src/cli/started-as.ts';
import { openStore } from '../../src/config/open.ts';
import { reprise } from '../support/processes/command-line.ts';
import { writeSealedSession } from '../support/store/sealed-home.ts';

test('a command is the same whether it is created alone or with all others', () => {
  const all = createProgram().commands;
  const names = all.map((command) => command.name());
  for (const command of all) {
    const name = command.name();
    const some = createProgram(name);
    const same = some.commands.find((each) => each.name() === name);
    expect(same?.helpInformation(), name).toBe(command.helpInformation());
    // What completes words has to know all of them.
    const isWhole = ['completion', '__complete'].includes(name);
    expect(some.commands.length === names.length, name).toBe(isWhole);
  }
  expect(createProgram('no-such-command').commands.map((command) => command.name())).toEqual(names);
});

test('ls lists a transcript that was put into the home, and continues to answer without opening a store', {
  timeout: 180_000,
}, async () => {
  const home = mkdtempSync(join(tmpdir(), 'reprise-start-'));
  {
    await using store = await openStore({ home });
    await store.create({ id: 'own', key: 'agent:main:main' });
  }
  const listed = (): string[] => {
    const { stdout, stderr } = reprise(['ls', '--json', '--home', home]);
    expect(stderr).toBe('');
    return (JSON.parse(stdout) as { data: { id: string }[] }).data.map(({ id }) => id).sort();
  };
  expect(listed()).toEqual(['own']);
  writeSealedSession(home, { id: 'brought', messages: 2 });
  expect(listed()).toEqual(['brought', 'own']);
  expect(listed()).toEqual(['brought', 'own']);
  rmSync(home, { recursive: true });
});

test('printed commands work as printed: by npm start, by npx, or installed', () => {
  const hint = 'Run "reprise ls" or reprise --home x; reprise itself stays.';
  const start = { npm_lifecycle_event: 'start', npm_lifecycle_script: 'node bin/reprise.cjs' };
  const npx = { npm_lifecycle_event: 'npx', npm_lifecycle_script: 'reprise "ls"' };
  expect(asStarted(hint, start)).toBe(
    'Run "npm start -- ls" or npm start -- --home x; reprise itself stays.',
  );
  expect(asStarted(hint, npx)).toBe('Run "npx reprise ls" or npx reprise --home x; reprise itself stays.');
  expect(asStarted(hint, { npm_lifecycle_event: 'npx', npm_lifecycle_script: 'vitest' })).toBe(hint);
  for (const command of createProgram().commands) {
    const name = command.name();
    if (!name.startsWith('__')) expect(asStarted(`reprise ${name}`, start)).toBe(`npm start -- ${name}`);
  }
  const { stderr } = reprise(['show', 'x', '--home', '/nowhere'], { env: start });
  expect(stderr).toMatch(/create one with "npm start"/);
});

test('npm prints no warning about the Node of the machine, and still prints errors', {
  timeout: 60_000,
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-npmrc-'));
  copyFileSync(new URL('../../.npmrc', import.meta.url), join(folder, '.npmrc'));
  const engines = { node: '>=99' };
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'x', version: '1.0.0', engines }));
  const npm = (...args: readonly string[]): string =>
    spawnSync('npm', args, { cwd: folder, encoding: 'utf8' }).stderr;
  expect(npm('install', '--dry-run', '--offline')).not.toContain('EBADENGINE');
  expect(npm('run', 'nothing')).toContain('Missing script: "nothing"');
  rmSync(folder, { recursive: true });
});

test('a mistyped subcommand of backup writes no file, and its help names the file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-backup-'));
  const { status, stderr } = reprise(['backup', 'create', '--home', folder], { cwd: folder });
  expect([status, stderr]).toEqual([2, expect.stringContaining('reprise backup ./create')]);
  expect(existsSync(join(folder, 'create'))).toBe(false);
  expect(reprise(['backup', '--help']).stdout).toContain('Usage: reprise backup [options] <file>\n');
  rmSync(folder, { recursive: true });
});

test('a checkout builds the page for serve, and not for its help', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-checkout-'));
  for (const name of ['bin', 'scripts', 'src/cli']) mkdirSync(join(folder, name), { recursive: true });
  copyFileSync(new URL('../../bin/run.cjs', import.meta.url), join(folder, 'bin/run.cjs'));
  writeFileSync(join(folder, 'scripts/build-web.ts'), 'export const ensureWeb = async () => true;');
  writeFileSync(join(folder, 'src/cli/main.ts'), 'export const main = () => undefined;');
  const notes = (...args: readonly string[]): string =>
    spawnSync(process.execPath, [join(folder, 'bin/run.cjs'), ...args], { encoding: 'utf8' }).stderr;
  expect(notes('serve')).toBe('The web page was built.\n');
  for (const args of [
    ['serve', '--help'],
    ['serve', '-h'],
    ['help', 'serve'],
  ])
    expect(notes(...args)).toBe('');
  rmSync(folder, { recursive: true });
});
