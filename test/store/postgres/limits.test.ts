// @module-tag long
import { expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import type { ListQuery } from '../../../src/store/port/store.ts';
import { listSessions } from '../../../src/store/postgres/list.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { nodeOn } from '../../support/postgres/postgres-node.ts';
import { query } from '../../support/postgres/postgres-suite.ts';

const SESSIONS = 10_000;
const FILL = `INSERT INTO reprise.sessions (id, agent_id, key, kind, status, created_at, last_at, recent, seq, q)
  SELECT 's' || n, 'a' || n % 3, 'agent:a' || n % 3 || ':session:' || n, 'session',
    CASE WHEN n % 5 = 0 THEN 'deleted' ELSE 'open' END, t, t, left(t, 19), 1, 1
  FROM (SELECT n, to_char(timestamp '2026-01-01' + n * interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS".000Z"') AS t
    FROM generate_series(1, ${SESSIONS}) AS n) AS made; ANALYZE reprise.sessions`;

interface Plan {
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly Plan[];
}

/** Rows of sessions that a plan touched. */
function touched({ Plans = [], ...plan }: Plan): number {
  const own = plan['Relation Name'] === 'sessions' ? plan['Actual Rows'] * plan['Actual Loops'] : 0;
  return Plans.reduce((sum, below) => sum + touched(below), own);
}

test.each<ListQuery>([
  {},
  { status: 'any' },
  { status: 'any', agentId: 'a1' },
  { status: 'deleted', agentId: 'a1' },
])('a page of %j reads no more rows of ten thousand than it shows', async (asked) => {
  await using database = await freshDatabase();
  await (await openStore({ kind: 'postgres', url: database.url, search: 'scan' }))[Symbol.asyncDispose]();
  await query(database.url, FILL);
  await using connections = nodeOn(database.url).connections;
  let rows = 0;
  const explained = {
    query: async <Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
      const [plan] = await connections.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        values,
      );
      rows += touched(plan?.['QUERY PLAN'][0].Plan as Plan);
      return connections.query<Row>(text, values);
    },
  };
  const { sessions, cursor } = await listSessions(explained, { ...asked, limit: 50 });
  expect(sessions).toHaveLength(50);
  expect(sessions.map(({ lastAt }) => lastAt)).toEqual(
    sessions
      .map(({ lastAt }) => lastAt)
      .toSorted()
      .toReversed(),
  );
  const next = await listSessions(explained, { ...asked, limit: 50, cursor: cursor ?? '' });
  expect(next.sessions[0]?.lastAt.localeCompare(sessions.at(-1)?.lastAt ?? '')).toBe(-1);
  // Of each status and page a few more than it shows.
  expect(rows).toBeLessThan(300);
});

test('the lock of a group leaves nothing behind', async () => {
  await using database = await freshDatabase();
  await using store = await openStore({ kind: 'postgres', url: database.url });
  const send = (n: number): Promise<unknown> =>
    store.inbox.receive({
      sessionKey: `agent:main:subagent:${n}`,
      source: 'case',
      body: {},
      group: { name: `g${n % 2}`, max: 3 },
    });
  const tries = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => send(n)));
  expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(6);
  const { rows } = await query(database.url, 'SELECT name FROM reprise.inbox_group_locks');
  expect(rows).toEqual([]);
});

test('a node waits for another one that makes tables, however long that takes', async () => {
  await using database = await freshDatabase();
  await using other = nodeOn(database.url).connections;
  const maker = await other.connect();
  try {
    await maker.query(`SELECT pg_advisory_lock(${0x7265_7072_6973})`);
    const limits = 'statement_timeout_ms=1000&connect_timeout_ms=2000';
    const opening = openStore({ kind: 'postgres', url: `${database.url}?${limits}` });
    opening.catch(() => undefined);
    let refusal: unknown;
    opening.catch((error: unknown) => {
      refusal = error;
    });
    // Longer than a statement has, and than a caller waits for the commit that was sent after it and then looks it up.
    const late = `SELECT 1 AS one FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'
      AND clock_timestamp() - query_start > interval '8500 milliseconds'`;
    await expect
      .poll(async () => refusal ?? (await query(database.url, late)).rows.length, { timeout: 60_000 })
      .toBe(1);
    await maker.query(`SELECT pg_advisory_unlock(${0x7265_7072_6973})`);
    await using store = await opening;
    expect((await store.list()).sessions).toEqual([]);
  } finally {
    await maker.end();
  }
});
