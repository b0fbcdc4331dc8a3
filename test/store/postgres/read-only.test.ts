// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { Store } from '../../../src/index.ts';
import { migrateStore } from '../../../src/interop/transfer/migrate-store.ts';
import { writeBackup } from '../../../src/interop/transfer/write-backup.ts';
import { Connections } from '../../../src/store/postgres/connection/connections.ts';
import { parsePostgresUrl } from '../../../src/store/postgres/settings.ts';
import { sameStores } from '../../../testing/store-suite/copy/transfer-kit.ts';
import { type FreshDatabase, freshDatabase } from '../../support/postgres/postgres.ts';
import { query } from '../../support/postgres/postgres-suite.ts';
import { operate } from '../../support/store/random-store.ts';

const root = mkdtempSync(join(tmpdir(), 'reprise-read-only-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const user = (text: string): { type: string; message: object } => ({
  type: 'message',
  message: { role: 'user', content: text },
});

const openToRead = (url: string): Promise<Store> => openStore({ kind: 'postgres', url, readOnly: true });

const rowsOf = async (url: string, sql: string): Promise<Record<string, unknown>[]> =>
  (await query(url, sql)).rows as Record<string, unknown>[];

/** Every row of every table with its place and the transaction that wrote it, and what the catalogue says of them. */
async function contentsOf(url: string): Promise<unknown> {
  const catalogue = await rowsOf(
    url,
    `SELECT c.xmin::text, c.oid::text, c.relname AS name, c.relkind AS kind FROM pg_class AS c
     WHERE relnamespace = 'reprise'::regnamespace ORDER BY c.oid`,
  );
  const rows: Record<string, unknown> = {};
  for (const { name, kind } of catalogue)
    if (kind === 'r')
      rows[String(name)] = await rowsOf(
        url,
        `SELECT t.xmin::text, t.xmax::text, t.ctid::text, t.* FROM reprise.${name} AS t ORDER BY t.ctid`,
      );
  return { rows, catalogue };
}

/** A bit of everything, with lines that no node has indexed and a message without its words to forget. */
async function fill(url: string): Promise<void> {
  await using store = await openStore({ kind: 'postgres', url, search: 'scan' });
  for (let n = 0; n < 60; n++) await operate(store, n % 13, n * 37);
  await store.create({ id: 'kept', key: 'agent:main:kept' });
  await store.append('kept', [user('a zebrafish')], { key: 'k' });
  await store.inbox.receive({
    sessionKey: 'agent:main:x',
    source: 'cli',
    idempotencyKey: 'a',
    body: { text: 'a' },
  });
  await query(url, "UPDATE reprise.inbox SET changed_by = '9000000000000'");
}

describe('a database that is opened only to be read', () => {
  test.each([
    ['directly', ''],
    ['through a transaction pooler', '?pooler=true'],
  ])(
    '%s: is the same afterwards, row by row, after copies, backups, searches and watches',
    async (_, how) => {
      await using database = await freshDatabase();
      await fill(database.url);
      const before = await contentsOf(database.url);
      {
        await using store = await openToRead(database.url + how);
        expect(store.supports.search).toBe('scan');
        await using copy = await openStore({
          kind: 'sqlite',
          home: join(root, `copy${how.length}`),
          durability: 'os',
        });
        expect(await migrateStore(store, copy, { run: 'r' })).toMatchObject({ status: 'done' });
        await sameStores(store, copy);
        await writeBackup(store, join(root, `backup${how.length}.jsonl`));
        expect((await store.search({ text: 'zebrafish' })).hits).toHaveLength(1);
        await store.reindex();
        await store.publish('kept', { said: 'here' });
        await store.verify();
        await store.tail('kept');
        const { signal } = new AbortController();
        for await (const { seq } of store.watch('kept', { afterSeq: 0, signal })) if (seq === 2) break;
      }
      expect(await contentsOf(database.url)).toEqual(before);
    },
  );

  test('refuses every write and says how to write to it', async () => {
    await using database = await freshDatabase();
    await fill(database.url);
    await using store = await openToRead(database.url);
    const refusals = [
      store.create({ key: 'agent:main:new' }),
      store.append('kept', [user('x')]),
      store.lease('kept'),
      store.patch('kept', { a: 1 }),
      store.delete('kept'),
      store.inbox.receive({ sessionKey: 'agent:main:x', source: 'cli', body: { text: 'b' } }),
      store.transfer.write([], { run: 'r', cursor: null }),
    ];
    for (const refused of refusals)
      await expect(refused).rejects.toMatchObject({
        code: 'STORE_READ_ONLY',
        outcome: 'none',
        details: { next: expect.stringContaining('readOnly') },
      });
  });

  test('needs no right but to read', async () => {
    await using database = await freshDatabase();
    await fill(database.url);
    const name = new URL(database.url).pathname.slice(1);
    await query(
      database.url,
      `CREATE ROLE "${name}_reader" LOGIN; GRANT USAGE ON SCHEMA reprise TO "${name}_reader";
       GRANT SELECT ON ALL TABLES IN SCHEMA reprise TO "${name}_reader"`,
    );
    const url = new URL(database.url);
    url.username = `${name}_reader`;
    await using store = await openToRead(url.href);
    await using copy = await openStore({ kind: 'memory' });
    expect(await migrateStore(store, copy, { run: 'r' })).toMatchObject({ status: 'done' });
    expect((await store.search({ text: 'zebrafish' })).hits).toHaveLength(1);
  });

  test('the server refuses, too, whatever we would forget', async () => {
    await using database = await freshDatabase();
    await fill(database.url);
    const url = `${database.url}?options=-c%20search_path%3Dreprise`;
    await using connections = new Connections(parsePostgresUrl({ url, readOnly: true }));
    const [row] = await connections.query<{ n: number }>(
      "SELECT count(*) AS n FROM sessions WHERE id = 'kept'",
    );
    expect(row?.n).toBe(1);
    await expect(connections.query('DELETE FROM reprise.sessions')).rejects.toMatchObject({
      code: 'STORE_READ_ONLY',
    });
  });

  test('without tables, or with those of an older version, is refused and left as it is', async () => {
    await using database = await freshDatabase();
    await expect(openToRead(database.url)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await schemasOf(database)).toEqual([]);
    await fill(database.url);
    await query(database.url, 'UPDATE reprise.schema_version SET version = version - 1');
    const before = await contentsOf(database.url);
    await expect(openToRead(database.url)).rejects.toMatchObject({
      code: 'STORE_READ_ONLY',
      details: { next: expect.stringContaining('reprise verify') },
    });
    expect(await contentsOf(database.url)).toEqual(before);
    await query(database.url, 'UPDATE reprise.schema_version SET oldest_reader = 1000');
    await expect(openToRead(database.url)).rejects.toMatchObject({ code: 'STORE_NEWER' });
  });
});

const schemasOf = ({ url }: FreshDatabase): Promise<unknown> =>
  rowsOf(url, "SELECT 1 AS one FROM pg_namespace WHERE nspname = 'reprise'");
