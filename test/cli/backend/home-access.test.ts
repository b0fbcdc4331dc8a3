import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { openStore } from '../../../src/config/open.ts';
import { COMMAND } from '../../support/processes/bundled-command.ts';
import { cliEnv } from '../../support/processes/cli-env.ts';

import { openClawHome, zyhiveHome } from '../../support/store/source-homes.ts';

/** Each command is a separate process, and machines can be busy. */
const timeout = 60_000;
/** The superuser may read everything, so the command runs as `nobody` then. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
/** In a checkout that `nobody` may not read, `nobody` cannot run the command. */
const canRun =
  spawnSync(process.execPath, ['-e', 'fs.readFileSync(process.argv[1])', COMMAND], user).status === 0;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reprise-access-'));
  chmodSync(folder, 0o755);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A command of a person whose home directory is `folder`. */
function run(
  args: readonly string[],
  options: object = {},
): { status: number | null; stdout: string; stderr: string } {
  const env = cliEnv({ HOME: folder });
  return spawnSync(process.execPath, [COMMAND, ...args], { encoding: 'utf8', env, ...options });
}

test('the first ls on a new machine lists nothing, says how to start, and makes no home', { timeout }, () => {
  expect(run(['ls'])).toMatchObject({
    status: 0,
    stdout: '',
    stderr: 'No sessions yet. Start one: "reprise"\n',
  });
  const { status, stdout, stderr } = run(['ls', '--json']);
  expect([status, JSON.parse(stdout), stderr]).toEqual([0, { data: [], hasMore: false, lastId: null }, '']);
  // A home that was named is not there: a typo must not look like an empty home.
  expect(run(['ls', '--home', join(folder, 'typo')]).status).toBe(4);
  expect(readdirSync(folder)).not.toContain('.reprise');
});

test.skipIf(!canRun)(
  'a home without read permission is reported as that, with the next step',
  { timeout },
  async () => {
    const home = join(folder, '.reprise');
    mkdirSync(home);
    {
      await using store = await openStore({ home, durability: 'os' });
      await store.create({ id: 's1', key: 'agent:main:main' });
    }
    chmodSync(home, 0o000);
    try {
      for (const args of [['ls'], ['show', 's1'], ['doctor']]) {
        const { status, stdout, stderr } = run(args, user);
        expect([args, status, stdout]).toEqual([args, 3, '']);
        expect(stderr).toMatch(
          /^reprise: no permission to read the home .*\.reprise \(the default\): EACCES/,
        );
        expect(stderr).toContain(`ls -ld ${home}`);
        expect(stderr).not.toContain('no Reprise home');
      }
    } finally {
      chmodSync(home, 0o700);
    }
  },
);

test.skipIf(!canRun)(
  'an import names each file and folder without read permission, and imports the rest',
  { timeout },
  () => {
    const openClaw = openClawHome(join(folder, 'openclaw'));
    const zyHive = zyhiveHome(join(folder, 'zyhive'));
    const locked = [
      join(openClaw, 'agents/main/sessions/sessions.json'),
      join(openClaw, 'agents/main/sessions/oc-old.jsonl'),
      join(openClaw, 'agents/work/sessions'),
      join(zyHive, 'agents/xiuliu/convlogs/telegram--100123.jsonl'),
    ];
    chmodSync(folder, 0o777);
    for (const path of locked) chmodSync(path, 0o000);
    try {
      const first = run(['import', openClaw, '--yes'], user);
      expect(first.stdout.match(/^new +oc-\w+/gm)?.map((line) => line.split(/ +/)[1])).toEqual([
        'oc-group',
        'oc-main',
        'oc-topic',
      ]);
      expect(first.status).toBe(6);
      for (const [i, path] of locked.slice(0, 3).entries())
        expect(first.stderr, path).toContain(
          `note: cannot read ${path}: EACCES${i === 0 ? '; transcripts are imported without it' : ''}`,
        );
      expect(first.stderr).toContain('3 sessions imported');
      const second = run(['import', zyHive, '--yes'], user);
      expect(second.stderr).toContain(`cannot read ${locked[3]}: EACCES`);
      expect(second.stderr).toContain('3 sessions imported');
      // A folder that was named itself and cannot be read is an error.
      const third = run(['import', locked[2] ?? '', '--yes'], user);
      expect([third.status, third.stdout]).toEqual([2, '']);
    } finally {
      for (const path of locked) chmodSync(path, 0o700);
    }
  },
);
