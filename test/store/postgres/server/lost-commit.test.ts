import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Connections } from '../../../../src/store/postgres/connection/connections.ts';
import { ServerTimeline } from '../../../../src/store/postgres/connection/server-timeline.ts';
import { type StoreContext, transaction } from '../../../../src/store/postgres/connection/transaction.ts';
import { parsePostgresUrl } from '../../../../src/store/postgres/settings.ts';
import { currentNode } from '../../../../src/store/postgres/write/holder.ts';
import { type PostgresServer, startPostgres } from '../../../support/postgres/postgres-server.ts';
import { TcpProxy } from '../../../support/server/tcp-proxy.ts';

let server: PostgresServer;
beforeAll(async () => {
  // Until a commit, or for ten seconds, nothing of a transaction is on disk: no other process writes the log.
  const settings = ['wal_writer_delay=10s', 'wal_level=minimal', 'max_wal_senders=0', 'autovacuum=off'];
  server = await startPostgres({ durable: true, settings });
});
afterAll(() => server.stop());

async function query<Row extends object>(sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query<Row & pg.QueryResultRow>(sql)).rows;
  } finally {
    await client.end();
  }
}

beforeEach(async () => {
  await query('DROP TABLE IF EXISTS said');
  await query('CREATE TABLE said (x text)');
  await query("INSERT INTO said VALUES ('before')");
});

function contextOf(connections: Connections): StoreContext {
  return {
    connections,
    now: () => new Date().toISOString(),
    self: currentNode('e'),
    tell: () => undefined,
    timeline: new ServerTimeline(),
  };
}

/** A transaction whose commit is trapped on its way, or whose answer is. */
async function trapped(way: 'up' | 'down', then: (proxy: TcpProxy) => Promise<void>): Promise<unknown> {
  await using proxy = await TcpProxy.before(server.url);
  await using connections = new Connections(parsePostgresUrl({ url: proxy.through(server.url) }));
  const context = contextOf(connections);
  await transaction(context, async (tx) => tx.query('SELECT 1 AS one'));
  const caught = proxy.trap('COMMIT', way);
  const done = transaction(context, async (tx) => {
    await tx.query("INSERT INTO said VALUES ('once')");
  }).then(
    () => 'committed',
    ({ code, outcome }: { code: string; outcome: string }) => `${code} ${outcome}`,
  );
  await caught;
  await then(proxy);
  return await done;
}

const said = async (): Promise<number> => (await query("SELECT x FROM said WHERE x = 'once'")).length;

async function nextNumber(): Promise<bigint> {
  const [row] = await query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid');
  return BigInt(row?.xid ?? 0);
}

describe('a commit whose answer is lost', () => {
  test('and that happened is reported as done, once', async () => {
    const outcome = await trapped('down', async (proxy) => {
      await expect.poll(said).toBe(1);
      proxy.reset();
      await proxy.heal();
    });
    expect([outcome, await said()]).toEqual(['committed', 1]);
  });

  test('and that did not happen is done again, once', async () => {
    const outcome = await trapped('up', async (proxy) => {
      proxy.reset();
      await proxy.heal();
    });
    expect([outcome, await said()]).toEqual(['committed', 1]);
  });

  test('by a crash is never taken for another transaction that was given its number afterwards', async () => {
    const before = await nextNumber();
    const numbers: bigint[] = [];
    const outcome = await trapped('up', async (proxy) => {
      await server.quit();
      await server.start();
      // Others come first and are given the numbers that were not on disk, ours among them.
      while ((numbers.at(-1) ?? 0n) < before + 8n) numbers.push(await nextNumber());
      proxy.reset();
      await proxy.heal();
    });
    expect(numbers[0]).toBeLessThanOrEqual(before + 2n);
    expect([outcome, await said()]).toEqual(['STORE_FAILED unknown', 0]);
  });
});
