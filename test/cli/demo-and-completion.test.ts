import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cliPage } from '../../scripts/cli-doc.ts';
import { openStore } from '../../src/config/open.ts';
import { COMMAND } from '../support/bundled-command.ts';
import { ENVIRONMENT, type Ran, reprise } from '../support/command-line.ts';

const timeout = 180_000;

let folder = '';
let home = '';
let made: Ran;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reprise-demo-test-'));
  home = join(folder, 'home');
  made = reprise(['demo', '--home', home]);
  await using store = await openStore({ kind: 'jsonl', home });
  for (const [id, label] of [
    ['evil-1', 'x$(touch pwned) "q" \'s\' `t`'],
    ['twin-1', 'twins'],
    ['twin-2', 'twins'],
  ] as const) {
    await store.create({ id, key: `agent:main:session:${id}`, settings: { label } });
    await store.append(id, [{ type: 'message', message: { role: 'user', content: 'hello' } }]);
  }
}, timeout);
afterAll(() => rmSync(folder, { recursive: true }));

describe('demo', () => {
  test('makes six sessions, hurts one and heals it on screen, and names the home at the end', async () => {
    expect(made).toMatchObject({ status: 0, stdout: `${home}\n` });
    expect(made.stderr).toMatch(/your name is Ada[\s\S]*read_file said[\s\S]*summed up[\s\S]*taken back/);
    expect(made.stderr).toMatch(/flipped, at byte \d+[\s\S]*verify: corrupt[\s\S]*which is clean/);
    await using store = await openStore({ kind: 'jsonl', home });
    const { sessions } = await store.list();
    const labels = sessions.map(({ label }) => label);
    for (const label of ['remembers', 'uses tools', 'stays inside the window', 'takes things back', 'heals'])
      expect(labels).toContain(`It ${label}`);
    const healed = sessions.find(({ label }) => label === 'It healed');
    expect((await store.verify(healed?.id ?? '')).status).toBe('clean');
  });

  test('never mixes with what is there', () => {
    expect(reprise(['demo', '--home', home])).toMatchObject({ status: 2, stdout: '' });
  });
});

describe('completion', () => {
  const complete = (...words: readonly string[]): string[] => {
    const { stdout } = reprise(['__complete', '--', ...words], { env: { REPRISE_HOME: home } });
    return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0] ?? '']));
  };

  test('offers commands, options and sessions by name and id, where each fits', { timeout }, () => {
    expect(complete('sh')).toEqual(['show']);
    expect(complete('ls', '--de')).toEqual(['--deleted']);
    expect(complete('show', 'It us')).toEqual(['It uses tools']);
    expect(complete('show', 'evil')).toEqual(['evil-1']);
    expect(complete('ls', 'It us')).toEqual([]);
    expect(complete('--home', home, 'rm', 'It us')).toEqual(['It uses tools']);
    // A name of two is no ref, so both are offered by their ids.
    expect(complete('show', 'twin').sort()).toEqual(['twin-1', 'twin-2']);
    expect(reprise(['__complete', '--', 'show', ''], { env: { REPRISE_HOME: folder } })).toMatchObject({
      status: 0,
      stdout: '',
      stderr: '',
    });
  });

  test('the script for bash completes what was typed, and a title cannot run anything', { timeout }, () => {
    const program = join(folder, 'reprise');
    writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${COMMAND}" "$@"\n`);
    chmodSync(program, 0o700);
    const script = `source <(reprise completion bash)
for typed in 'It\\ us' '"It us' "'It us" 'x' '"x' '"x$(touch pwned)'; do
  COMP_WORDS=(reprise show "$typed") COMP_CWORD=2
  _reprise
  printf '%s\\n' "\${COMPREPLY[@]}"
done
complete -p reprise`;
    const env = { ...ENVIRONMENT, REPRISE_HOME: home, PATH: `${folder}:${ENVIRONMENT['PATH']}` };
    const run = spawnSync('bash', ['--norc', '-c', script], { encoding: 'utf8', env, cwd: folder });
    expect(run.stderr).toBe('');
    const [plain, double, single, bare, quoted, ...rest] = run.stdout.split('\n');
    expect([plain, double, single]).toEqual(['It\\ uses\\ tools', 'It uses tools', 'It uses tools']);
    // Put on a command line, both are one word that says what the title says.
    for (const word of [bare, `"${quoted}"`]) {
      const echoed = spawnSync('bash', ['-c', `printf %s ${word}`], { encoding: 'utf8', cwd: folder });
      expect(echoed.stdout).toBe('x$(touch pwned) "q" \'s\' `t`');
    }
    expect(rest.join('\n')).toContain('complete -o default -F _reprise reprise');
    expect(() => readFileSync(join(folder, 'pwned'))).toThrow('ENOENT');
  });

  test('there is a script for each of three shells', { timeout }, () => {
    for (const shell of ['bash', 'zsh', 'fish'])
      expect(reprise(['completion', shell]).stdout).toContain('__complete --');
    expect(reprise(['completion', 'tcsh'])).toMatchObject({ status: 2, stdout: '' });
  });
});

test('docs/cli.md says what the commands say', () => {
  expect(readFileSync('docs/cli.md', 'utf8')).toBe(cliPage());
});
