import { spawnSync } from 'node:child_process';
import { chmodSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cliPage } from '../../scripts/cli-doc.ts';
import { openStore } from '../../src/config/open.ts';
import { COMMAND } from '../support/processes/bundled-command.ts';
import { ENVIRONMENT, type Ran, reprise } from '../support/processes/command-line.ts';

const timeout = 180_000;
const LABELS = [
  'Trip to Lisbon',
  'Orders counted twice',
  'Garden house',
  '学日语的计划',
  "Grandma's birthday",
] as const;

let folder = '';
let home = '';
let made: Ran;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reprise-demo-test-'));
  home = join(folder, 'home');
  // As `npm start -- demo` starts it in a clone.
  const env = { npm_lifecycle_event: 'start', npm_lifecycle_script: 'node bin/reprise.cjs' };
  made = reprise(['demo', '--home', home], { env });
}, timeout);
afterAll(() => rmSync(folder, { recursive: true }));

describe('demo', () => {
  test('creates realistic sessions, damages one, repairs it, and prints the home at the end', async () => {
    expect(made).toMatchObject({ status: 0, stdout: `${home}\n` });
    expect(made.stderr).toMatch(/flipped, at byte \d+[\s\S]*verify: corrupt[\s\S]*which is clean/);
    expect(made.stderr).toMatch(/compacted: ~\d+ -> ~\d+ tokens[\s\S]*undone: the last turn is a branch now/);
    await using store = await openStore({ kind: 'jsonl', home });
    const { sessions } = await store.list();
    expect(sessions.map(({ label }) => label)).toEqual(expect.arrayContaining([...LABELS]));
    const repaired = sessions.find(({ label }) => label === 'Pancakes (repaired)');
    expect((await store.verify(repaired?.id ?? '')).status).toBe('clean');
    // A real tool changed a real file, and the session that the last line offers is the newest.
    const edited = globSync(join(home, '**', 'orders.ts')).map((file) => readFileSync(file, 'utf8'));
    expect(edited).toEqual([expect.not.stringContaining('retried')]);
    expect(sessions[0]?.label).toBe('Trip to Lisbon');
  });

  test('prints commands that work as printed', { timeout, tags: 'long' }, () => {
    // `serve` and the chat run until they are stopped.
    const commands = made.stderr.matchAll(/^ {2}(npm start -- (?!serve)[a-z].*)$/gm);
    const printed = [...commands].map(([, command = '']) => command);
    expect(printed.length).toBeGreaterThanOrEqual(3);
    for (const command of printed) {
      expect(command).toContain(`--home ${home}`);
      const { status, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8', env: ENVIRONMENT });
      expect([status, stderr], command).toEqual([0, expect.not.stringContaining('reprise: ')]);
    }
  });

  test('refuses a folder that is not empty', () => {
    expect(reprise(['demo', '--home', home])).toMatchObject({ status: 2, stdout: '' });
  });
});

describe('completion', () => {
  beforeAll(async () => {
    await using store = await openStore({ kind: 'jsonl', home });
    for (const [id, label] of [
      ['evil-1', 'x$(touch pwned) "q" \'s\' `t`'],
      ['twin-1', 'twins'],
      ['twin-2', 'twins'],
    ] as const) {
      await store.create({ id, key: `agent:main:session:${id}`, settings: { label } });
      await store.append(id, [{ type: 'message', message: { role: 'user', content: 'hello' } }]);
    }
  });

  const complete = (...words: readonly string[]): string[] => {
    const { stdout } = reprise(['__complete', '--', ...words], { env: { REPRISE_HOME: home } });
    return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t')[0] ?? '']));
  };

  test('offers commands, options and sessions by name and id, where each fits', { timeout }, () => {
    expect(complete('sh')).toEqual(['show']);
    expect(complete('ls', '--de')).toEqual(['--deleted']);
    expect(complete('show', 'Orders c')).toEqual(['Orders counted twice']);
    expect(complete('show', 'evil')).toEqual(['evil-1']);
    expect(complete('ls', 'Orders c')).toEqual([]);
    expect(complete('--home', home, 'rm', 'Orders c')).toEqual(['Orders counted twice']);
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
for typed in 'Orders\\ c' '"Orders c' "'Orders c" 'x' '"x' '"x$(touch pwned)'; do
  COMP_WORDS=(reprise show "$typed") COMP_CWORD=2
  _reprise
  printf '%s\\n' "\${COMPREPLY[@]}"
done
complete -p reprise`;
    const env = { ...ENVIRONMENT, REPRISE_HOME: home, PATH: `${folder}:${ENVIRONMENT['PATH']}` };
    const run = spawnSync('bash', ['--norc', '-c', script], { encoding: 'utf8', env, cwd: folder });
    expect(run.stderr).toBe('');
    const [plain, double, single, bare, quoted, ...rest] = run.stdout.split('\n');
    expect([plain, double, single]).toEqual([
      'Orders\\ counted\\ twice',
      'Orders counted twice',
      'Orders counted twice',
    ]);
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
