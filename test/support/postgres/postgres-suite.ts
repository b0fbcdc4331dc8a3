import pg from 'pg';
import { afterAll, test } from 'vitest';
import { type OpenStoreOptions, openStore } from '../../../src/config/open.ts';
import { runStoreCase, type StoreCase, type StoreUnderTest } from '../../../testing/store-suite/index.ts';
import { type FreshDatabase, freshDatabase } from './postgres.ts';

/** Empty again: many times faster than another database, or than new files for every table. */
const EMPTY = `DO $$ DECLARE name text; BEGIN
  SET LOCAL session_replication_role = replica; -- in any order, whatever refers to what
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'reprise' AND tablename <> 'schema_version' LOOP
    EXECUTE format('DELETE FROM reprise.%I', name);
  END LOOP;
  FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'reprise' AND last_value IS NOT NULL LOOP
    EXECUTE format('ALTER SEQUENCE reprise.%I RESTART', name);
  END LOOP;
END $$`;

/** Cases of the suite on a few databases, emptied before each. `parameters` go into the URL that `through` leads to. */
export function testPostgresStore(
  cases: readonly StoreCase[],
  parameters: Readonly<Record<string, string>> = {},
  through: (url: string) => string = (url) => url,
): void {
  const databases: FreshDatabase[] = [];
  /** By the case that runs: each store it asks for has its own database. */
  let used = 0;

  async function open(): Promise<StoreUnderTest> {
    databases[used] ??= await freshDatabase();
    const database = databases[used++] as FreshDatabase;
    await query(database.url, EMPTY);
    const url = new URL(through(database.url));
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    const options: OpenStoreOptions = { kind: 'postgres', url: url.href };
    let store = await openStore(options);
    return {
      get store() {
        return store;
      },
      async reopen() {
        await store[Symbol.asyncDispose]();
        store = await openStore(options);
        return store;
      },
    };
  }

  afterAll(async () => {
    for (const database of databases) await database[Symbol.asyncDispose]();
  });
  for (const storeCase of cases)
    test(storeCase.name, () => {
      used = 0;
      return runStoreCase(storeCase, open);
    });
}

export async function query(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await client.query(sql);
  } finally {
    await client.end();
  }
}
