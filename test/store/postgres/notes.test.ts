import { expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { removeSession } from '../../../src/store/postgres/sessions.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { hold } from '../../support/postgres/postgres-node.ts';
import { query } from '../../support/postgres/postgres-suite.ts';

test('no note outlives its session, also when it is written while the session is purged', async () => {
  await using database = await freshDatabase();
  await using store = await openStore({ kind: 'postgres', url: database.url });
  for (const id of ['gone', 'here']) await store.create({ id, key: `agent:main:${id}` });
  await using purge = await hold(database.url, (tx) => removeSession(tx, 'gone'));
  let isDone = false;
  const put = store.notes
    .put('n', [
      { id: 'gone', seq: 1, value: {} },
      { id: 'here', seq: 1, value: {} },
    ])
    .finally(() => {
      isDone = true;
    });
  const waiting =
    "SELECT 1 AS one FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO reprise.notes%'";
  await expect.poll(async () => isDone || (await query(database.url, waiting)).rows.length > 0).toBe(true);
  await purge.end();
  await put;
  const { rows } = await query(database.url, 'SELECT session_id FROM reprise.notes');
  expect(rows).toEqual([{ session_id: 'here' }]);
});
