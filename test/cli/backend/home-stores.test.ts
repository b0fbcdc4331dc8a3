import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore, type StoreKind } from '../../../src/config/open.ts';
import { type Ran, runBeside, startServer } from '../../support/processes/command-line.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'reprise-home-stores-')));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A session with a message; sessions of different kinds get different words. */
async function homeWith(name: string, ...kinds: readonly StoreKind[]): Promise<string> {
  const home = join(root, name);
  for (const kind of kinds) {
    await using store = await openStore({ kind, home, durability: 'os' });
    await store.create({ id: `in-${kind}`, key: `agent:main:session:${kind}` });
    const content = `my ${kind} is Ada`;
    await store.append(`in-${kind}`, [{ type: 'message', message: { role: 'user', content } }]);
  }
  return home;
}

const run = (home: string, ...args: readonly string[]): Promise<Ran> => runBeside([...args, '--home', home]);

const idsOf = ({ stdout }: Ran): string[] =>
  (JSON.parse(stdout) as { data: { id: string }[] }).data.map(({ id }) => id).sort();

describe('a home that holds a database', () => {
  let held = '';
  beforeAll(async () => {
    held = await homeWith('held', 'sqlite');
  });

  test('is opened by a chat and by a server, and no other store is created in it', async () => {
    const home = await homeWith('database', 'sqlite');
    // What agents write is in a folder of every home, and says nothing about its store.
    mkdirSync(join(home, 'agents', 'main', 'workspace'), { recursive: true });
    const asked = await run(home, '-c', '-p', 'what is my sqlite?');
    expect([asked.status, asked.stdout, asked.stderr]).toEqual([0, expect.stringContaining('Ada'), '']);
    await using server = await startServer(home);
    const authorization = `Bearer ${readFileSync(server.tokenFile, 'utf8').trim()}`;
    const answer = await fetch(`${server.url}/api/sessions`, { headers: { authorization } });
    const { data } = (await answer.json()) as { data: object[] };
    expect(data).toMatchObject([{ id: 'in-sqlite', messageCount: 3 }]);
    expect(readdirSync(home)).not.toContain('control.db');
  });

  test.each([[['ls']], [['-p', 'hello']], [['import', 'examples']]])(
    'is not ignored in favor of a store of another kind by: %j',
    async (args) => {
      const refused = await run(held, ...args, '--store', 'jsonl');
      expect([refused.status, refused.stdout]).toEqual([2, '']);
      expect(refused.stderr).toContain(`${held} contains a sqlite store and no jsonl store`);
      expect(refused.stderr).toContain(`reprise migrate --from sqlite:${held} --to jsonl:${held}`);
      expect(readdirSync(held)).not.toContain('control.db');
    },
  );

  test('is what a doctor names if another kind was requested', async () => {
    const home = await homeWith('doctor', 'jsonl');
    const { status, stdout } = await run(home, 'doctor', '--store', 'sqlite');
    expect([status, stdout]).toEqual([
      1,
      expect.stringContaining('contains a jsonl store and no sqlite store'),
    ]);
    expect(existsSync(join(home, 'store.db'))).toBe(false);
  });
});

describe('a home that holds two stores', () => {
  test('reports which store is not used, until one is chosen, and how to merge both', async () => {
    const home = await homeWith('two', 'sqlite', 'jsonl');
    const listed = await run(home, 'ls', '--json');
    expect(idsOf(listed)).toEqual(['in-jsonl']);
    expect(listed.stderr.trimEnd().split('\n')).toEqual([
      `${home} holds two stores, and store.db is not used. To list its sessions: reprise ls --home ${home} --store sqlite. "reprise doctor" shows how to merge both.`,
    ]);
    const chosen = await run(home, 'ls', '--json', '--store', 'sqlite');
    expect([idsOf(chosen), chosen.stderr]).toEqual([['in-sqlite'], '']);

    const seen = await run(home, 'doctor');
    expect(seen.status).toBe(1);
    expect(seen.stdout).toContain(
      'warn stores: this home has two stores: control.db is used, store.db is not',
    );
    const chose = await run(home, 'doctor', '--store', 'jsonl');
    expect(chose.stdout).toContain(
      'ok   stores: this home has two stores: control.db is used, store.db is not',
    );

    const out = join(root, 'out');
    for (const command of ['export', 'import']) {
      const line = new RegExp(`reprise (${command} .*)`).exec(seen.stdout)?.[1] ?? '';
      const args = line.split(' ').map((word) => (word === 'DIR' ? out : word));
      const { status, stderr } = await runBeside([...args, ...(command === 'import' ? ['--yes'] : [])]);
      expect([status, stderr]).toEqual([0, expect.stringContaining('1 session')]);
    }
    expect(idsOf(await run(home, 'ls', '--json'))).toEqual(['in-jsonl', 'in-sqlite']);
  });
});
