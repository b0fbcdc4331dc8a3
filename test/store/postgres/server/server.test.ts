import { access, readFile } from 'node:fs/promises';
import pg from 'pg';
import { expect, test } from 'vitest';
import { freshDatabase } from '../../../support/postgres/postgres.ts';
import { startPostgres } from '../../../support/postgres/postgres-server.ts';

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

test('every test has its own database, in UTF-8, and leaves none', async () => {
  const [one, two] = await Promise.all([freshDatabase(), freshDatabase()]);
  await query(one.url, 'CREATE TABLE t (x text)');
  expect(await query(two.url, "SELECT to_regclass('t') AS t")).toEqual([{ t: null }]);
  expect(await query(two.url, 'SHOW server_encoding')).toEqual([{ server_encoding: 'UTF8' }]);
  const name = new URL(one.url).pathname.slice(1);
  await one[Symbol.asyncDispose]();
  expect(await query(two.url, `SELECT 1 FROM pg_database WHERE datname = '${name}'`)).toEqual([]);
  await two[Symbol.asyncDispose]();
});

test('a durable server keeps what it acknowledged when it is killed, and leaves nothing when it is stopped', async () => {
  const server = await startPostgres({ durable: true });
  expect(await query(server.url, 'SHOW fsync')).toEqual([{ fsync: 'on' }]);
  await query(server.url, 'CREATE TABLE kept (x int)');
  await query(server.url, 'INSERT INTO kept VALUES (1)');
  const [{ data }] = (await query(server.url, "SELECT current_setting('data_directory') AS data")) as [
    { data: string },
  ];
  const pid = Number((await readFile(`${data}/postmaster.pid`, 'utf8')).split('\n')[0]);
  await server.crash();
  await expect(query(server.url, 'SELECT 1')).rejects.toThrow();
  await server.start();
  expect(await query(server.url, 'SELECT x FROM kept')).toEqual([{ x: 1 }]);
  await server.stop();
  await expect(access(data)).rejects.toThrow('ENOENT');
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});
