import pg from 'pg';
import { expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { NewEntry, SessionPage, Store } from '../../../src/store/port/store.ts';
import { bringUpListed } from '../../../src/store/postgres/listed.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { nodeOn } from '../../support/postgres/postgres-node.ts';
import { query } from '../../support/postgres/postgres-suite.ts';

const SESSIONS = ['a', 'b', 'c', 'd'];
const user: NewEntry = { type: 'message', message: { role: 'user', content: 'x' } };

async function fill(store: Store): Promise<void> {
  for (const [i, id] of SESSIONS.entries()) {
    await store.create({ id, key: `agent:main:session:${id}` });
    await store.append(
      id,
      Array.from({ length: ((i * 3) % 4) + 1 }, () => user),
    );
  }
}

async function grown(url: string): Promise<string[]> {
  const { rows } = await query(url, 'SELECT id FROM reprise.sessions WHERE unlisted ORDER BY id');
  return rows.map((row: { id: string }) => row.id);
}

function lists(store: Store): Promise<SessionPage[]> {
  const orders = ['asc', 'desc'] as const;
  return Promise.all(orders.map((order) => store.list({ sort: 'messages', order })));
}

test('sessions that have grown are indexed after the appends, skipping locked ones, and lists stay equal', async () => {
  await using database = await freshDatabase();
  const { url } = database;
  // No other node updates the index: one writes and is gone before its first round, one only reads.
  const write = async (work: (store: Store) => Promise<unknown>): Promise<void> => {
    await using writing = await openStore({ kind: 'postgres', url, search: 'scan' });
    await work(writing);
  };
  await using connections = nodeOn(url).connections;
  await write(fill);
  await using store = await openStore({ kind: 'postgres', url, readOnly: true });
  const before = await lists(store);
  expect(await grown(url)).toEqual(SESSIONS);
  const somebody = new pg.Client({ connectionString: url });
  await somebody.connect();
  await somebody.query("BEGIN; SELECT 1 FROM reprise.sessions WHERE id = 'b' FOR UPDATE");
  expect(await bringUpListed(connections)).toBe(false);
  expect(await grown(url)).toEqual(['b']);
  expect(await lists(store)).toEqual(before);
  await somebody.query('ROLLBACK');
  await somebody.end();
  expect(await bringUpListed(connections)).toBe(false);
  expect(await grown(url)).toEqual([]);
  expect(await lists(store)).toEqual(before);
  await write((writing) => writing.append('c', [user, user, user, user]));
  expect(await grown(url)).toEqual(['c']);
  expect((await store.list({ sort: 'messages', limit: 1 })).sessions[0]?.id).toBe('c');
});

test('an append moves a session in none of the indexes that lists are sorted by', async () => {
  await using database = await freshDatabase();
  const { url } = database;
  // Its clock stands still: nothing else moves it either.
  await using store = await openStore({ kind: 'postgres', url, now: '2030-01-01T00:00:00.000Z' });
  await fill(store);
  // Where nothing that an index holds has changed, the new row stands in the page of the old one and no index knows.
  const places = async (): Promise<unknown> => {
    const found = await query(
      url,
      "SELECT pg_relation_size('reprise.sessions_by_messages') AS a, pg_relation_size('reprise.sessions_by_tokens') AS b",
    );
    return found.rows;
  };
  const before = await places();
  for (let i = 0; i < 600; i++) await store.append('a', [user]);
  expect(await places()).toEqual(before);
  expect((await store.list({ sort: 'messages', limit: 1 })).sessions[0]).toMatchObject({
    id: 'a',
    messageCount: 601,
  });
});
