import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { type FreshDatabase, freshDatabase } from '../../support/postgres/postgres.ts';
import { query } from '../../support/postgres/postgres-suite.ts';
import { COMMAND } from '../../support/processes/bundled-command.ts';
import { cliEnv } from '../../support/processes/cli-env.ts';

/** Each command is a separate process, and machines can be busy. */
const timeout = 180_000;

let database: FreshDatabase;
let home = '';
beforeAll(async () => {
  database = await freshDatabase();
  await (await openStore({ kind: 'postgres', url: database.url }))[Symbol.asyncDispose]();
  home = mkdtempSync(join(tmpdir(), 'reprise-pg-home-'));
});
afterAll(async () => {
  rmSync(home, { recursive: true });
  await database[Symbol.asyncDispose]();
});

function reprise(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
  const url = new URL(database.url);
  // The server of the tests asks for none; it must not be shown all the same.
  url.password = 'pa55word';
  const env = cliEnv({ REPRISE_HOME: home, REPRISE_STORE: 'postgres', REPRISE_STORE_URL: url.href });
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, ...args], {
    encoding: 'utf8',
    env,
  });
  return { status, stdout, stderr };
}

test('commands work on a database as on a home, and the doctor says what its commits survive', {
  timeout,
}, async () => {
  await using store = await openStore({ kind: 'postgres', url: database.url });
  const { id } = await store.create({ key: 'agent:main:main', activate: true });
  await store.append(id, [{ type: 'message', message: { role: 'user', content: 'Plan the garden' } }]);
  const lease = await store.lease(id);

  const list = reprise('ls');
  expect([list.stderr, list.status]).toEqual(['', 0]);
  expect(list.stdout).toContain('Plan the garden');
  const locks = reprise('locks');
  expect(locks.stdout).toMatch(new RegExp(`${id} .*process ${process.pid} on \\S+ +alive`));
  await lease.release();

  const { stdout } = reprise('doctor');
  expect(stdout).toMatch(/durability: PostgreSQL \d+.*synchronous_commit=/);
  expect(stdout).toMatch(/connections: [\d.]+ ms round trip to the server, an append takes two/);
  expect(stdout).toContain('1 session,');
  const config = reprise('config');
  expect(config.stdout).toContain('store.url');
  for (const said of [stdout, config.stdout, list.stdout]) expect(said).not.toContain('pa55word');
});

test('a plan to move into a database makes nothing in it, and a backup of one changes nothing', {
  timeout,
}, async () => {
  await using empty = await freshDatabase();
  const schemas = async (): Promise<number> =>
    (await query(empty.url, "SELECT 1 AS one FROM pg_namespace WHERE nspname = 'reprise'")).rows.length;
  const plan = reprise('migrate', '--to', empty.url, '--dry-run');
  expect([plan.stderr, plan.status]).toEqual(['', 0]);
  expect(plan.stdout).toContain('would be copied');
  expect(await schemas()).toBe(0);

  const file = join(home, 'b.jsonl');
  const nothing = reprise('migrate', '--from', empty.url, '--to', `sqlite:${join(home, 'nowhere')}`);
  expect([nothing.status, nothing.stderr]).toEqual([4, expect.stringContaining('there is no store at')]);
  const written = async (): Promise<unknown> =>
    (await query(database.url, 'SELECT xmin::text, xmax::text, ctid::text, * FROM reprise.sessions')).rows;
  const before = await written();
  expect(reprise('backup', file).status).toBe(0);
  expect(reprise('backup', 'verify', file).status).toBe(0);
  expect(await written()).toEqual(before);
});
