import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import { freshDatabase } from '../support/postgres/postgres.ts';
import { runBeside } from '../support/processes/command-line.ts';
import { operate } from '../support/store/random-store.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'reprise-cli-migrate-')));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const home = join(root, 'home');
const small = join(root, 'small');

/** The command that a person should run, as a shell reads it. */
function run(said: string): void {
  const command = /To copy: (.*)/.exec(said)?.[1] ?? 'false';
  execFileSync('sh', ['-c', command], { cwd: root });
}

beforeAll(async () => {
  await using store = await openStore({ kind: 'jsonl', home, durability: 'os' });
  for (let n = 0; n < 40; n++) await operate(store, n, n);
  await using other = await openStore({ kind: 'sqlite', home: small, durability: 'os' });
  await other.create({ id: 'own', key: 'agent:main:main' });
});

describe('reprise migrate', () => {
  test('previews, copies in the same home, prints how to switch, and does nothing the second time', async () => {
    const both = join(root, 'both');
    cpSync(home, both, { recursive: true });
    const plan = await runBeside(['migrate', '--home', both, '--to', 'sqlite', '--dry-run']);
    expect([plan.status, plan.stderr]).toEqual([0, '']);
    expect(plan.stdout).toContain(`jsonl:${both} would be copied to sqlite:${both}`);
    expect(readdirSync(both)).not.toContain('store.db');
    const done = await runBeside(['migrate', '--home', both, '--to', 'sqlite']);
    expect([done.status, done.stderr]).toEqual([0, '']);
    expect(done.stdout).toContain('every checksum is equal');
    expect(done.stdout).toContain('"store":{"kind":"sqlite"}');
    const again = await runBeside(['migrate', '--home', both, '--to', 'sqlite', '--json']);
    expect(again.stderr).toContain('store.db is not used');
    expect([again.status, JSON.parse(again.stdout)]).toMatchObject([
      0,
      { status: 'before', differences: [] },
    ]);
  });

  test('copies to a database and back, with the password in neither the command line nor the output', async () => {
    await using database = await freshDatabase();
    const url = new URL(database.url);
    if (url.password === '') url.password = 'secret-word';
    const refused = await runBeside(['migrate', '--home', home, '--to', url.href]);
    expect(refused.status).toBe(2);
    expect(refused.stderr).toContain('REPRISE_STORE_URL');
    expect(refused.stderr).not.toContain(url.password);
    const configured = { env: { REPRISE_STORE_URL: url.href } };
    const there = await runBeside(['migrate', '--home', home, '--to', 'postgres', '--json'], configured);
    expect([there.status, there.stderr]).toEqual([0, '']);
    expect(there.stdout).not.toContain(url.password);
    const env = { PGPASSWORD: url.password };
    url.password = '';
    const to = `jsonl:${join(root, 'back')}`;
    const back = await runBeside(['migrate', '--from', url.href, '--to', to, '--json'], { env });
    expect([back.status, back.stderr]).toEqual([0, '']);
    const shas = (text: string): unknown[] =>
      (JSON.parse(text) as { data: { id: string }[] }).data.sort((a, b) => (a.id < b.id ? -1 : 1));
    expect(shas(back.stdout)).toEqual(shas(there.stdout));
    expect(shas(back.stdout).length).toBeGreaterThan(2);
  });

  test('names the files of agents, which are not in a store, with a command that copies them', async () => {
    const from = join(root, "it's home");
    const to = join(root, 'to');
    {
      await using store = await openStore({ kind: 'jsonl', home: from, durability: 'os' });
      await store.create({ id: 'own', key: 'agent:main:main' });
    }
    for (const agent of ['empty', 'main', 'work'])
      mkdirSync(join(from, 'agents', agent, 'workspace'), { recursive: true });
    for (const agent of ['main', 'work'])
      writeFileSync(join(from, 'agents', agent, 'workspace', 'notes.txt'), `of ${agent}`);
    // No folders, where one looks for some: theirs who put them there.
    writeFileSync(join(from, 'agents', 'readme.txt'), 'about agents');
    mkdirSync(join(from, 'agents', 'odd'));
    writeFileSync(join(from, 'agents', 'odd', 'workspace'), 'of odd');
    const inPlace = await runBeside(['migrate', '--home', from, '--to', 'sqlite', '--dry-run', '--json']);
    expect(JSON.parse(inPlace.stdout)).toMatchObject({ workspaces: [] });

    const moved = await runBeside(['migrate', '--home', from, '--to', `sqlite:${to}`]);
    expect([moved.status, moved.stderr]).toEqual([
      0,
      expect.stringContaining('Not copied: workspaces and AGENT.md of agents (3 paths)'),
    ]);
    run(moved.stderr);
    const notes = ['main', 'work'].map((agent) => join(to, 'agents', agent, 'workspace', 'notes.txt'));
    expect(notes.map((file) => readFileSync(file, 'utf8'))).toEqual(['of main', 'of work']);
    expect(readFileSync(join(to, 'agents', 'odd', 'workspace'), 'utf8')).toBe('of odd');
    expect(readdirSync(join(to, 'agents'))).not.toContain('empty');

    const kept = await runBeside(['backup', join(root, 'kept.jsonl'), '--home', from]);
    expect([kept.status, kept.stderr]).toEqual([
      0,
      expect.stringContaining('Not copied: workspaces and AGENT.md of agents (3 paths)'),
    ]);
    run(kept.stderr);
    expect(readdirSync(root)).toContain('workspaces.tar');
  });

  const newer = join(root, 'newer');
  test.each([
    [
      'a source that is not there',
      ['--from', 'sqlite:/nowhere/at/all', '--to', `jsonl:${root}/x`],
      4,
      'Name another one with --from',
    ],
    [
      'the same place twice',
      ['--home', home, '--from', `jsonl:${home}/.`, '--to', 'jsonl'],
      2,
      'both the source and the target',
    ],
    [
      'a target with sessions',
      ['--from', `sqlite:${small}`, '--to', `jsonl:${home}`],
      2,
      'Nothing was changed',
    ],
    [
      'a target of a newer version',
      ['--home', home, '--to', `sqlite:${newer}`],
      6,
      'Use the version of Reprise that wrote it',
    ],
    ['no store at all', ['--home', home, '--to', 'mysql://secret@host/db'], 2, 'is not the name of a store'],
    [
      'an address that does not answer',
      ['--home', home, '--to', 'postgres://127.0.0.1:1/none'],
      5,
      'reprise',
    ],
  ] as const)('%s is refused with a next step', async (what, args, status, said) => {
    if (what === 'a target of a newer version') {
      await using store = await openStore({ kind: 'sqlite', home: newer, durability: 'os' });
      await store[Symbol.asyncDispose]();
      const db = new DatabaseSync(join(newer, 'store.db'));
      db.exec("UPDATE meta SET value = '99' WHERE name = 'schema'");
      db.close();
    }
    const result = await runBeside(['migrate', ...args]);
    expect([result.status, result.stdout]).toEqual([status, '']);
    expect(result.stderr).toContain(said);
    expect(result.stderr).not.toContain('secret');
    expect(result.stderr.trimEnd().split('\n').length).toBe(2);
  });
});
