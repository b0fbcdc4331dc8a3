import { expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import { lockSession } from '../../../../src/store/postgres/rows.ts';
import { parsePostgresUrl } from '../../../../src/store/postgres/settings.ts';
import { freshDatabase } from '../../../support/postgres/postgres.ts';
import { hold } from '../../../support/postgres/postgres-node.ts';

const say = (content: string) => ({ type: 'message', message: { role: 'user', content } });

test('a node that freezes inside an append holds its session for less than the time of a lease', async () => {
  expect(parsePostgresUrl({ url: 'postgres://u@h/d' }).idleTransactionMs).toBeLessThanOrEqual(15_000 / 3);
  await using database = await freshDatabase();
  await using store = await openStore({ kind: 'postgres', url: database.url });
  const { id } = await store.create({ key: 'agent:main:main' });
  // To the server a frozen process is one that has locked a row and says nothing more.
  const frozen = await hold(`${database.url}?idle_transaction_timeout_ms=300`, (tx) => lockSession(tx, id));
  await store.append(id, [say('after it')], { key: 'k' });
  expect((await store.read(id)).entries).toHaveLength(2);
  // When it continues it learns that its transaction is over, and does it again.
  await frozen.end();
  await frozen[Symbol.asyncDispose]();
});

test('a caller that waits for a lease is answered in time, whatever locks the row of the session', async () => {
  await using database = await freshDatabase();
  await using store = await openStore({ kind: 'postgres', url: database.url });
  const { id } = await store.create({ key: 'agent:main:main' });
  const frozen = await hold(database.url, (tx) => lockSession(tx, id));
  const asked = performance.now();
  await expect(store.lease(id, { waitMs: 100 })).rejects.toMatchObject({ code: 'STORE_BUSY' });
  // Far below the 5 s after which the server ends the frozen transaction, and the 30 s of a statement.
  expect(performance.now() - asked).toBeLessThan(4000);
  await frozen[Symbol.asyncDispose]();
  await using lease = await store.lease(id, { waitMs: 5000 });
  expect(lease.epoch).toBeGreaterThan(0);
});
