import { expect, test } from 'vitest';
import { openStore } from '../../../../src/config/open.ts';
import { lockSession } from '../../../../src/store/postgres/rows.ts';
import { freshDatabase } from '../../../support/postgres/postgres.ts';
import { hold } from '../../../support/postgres/postgres-node.ts';

test('a repeated request for a session that another node holds blocks no one, and succeeds when it is free', async () => {
  await using database = await freshDatabase();
  // A lock that is waited for is a refusal of another kind, in the end.
  const url = `${database.url}?statement_timeout_ms=10000`;
  await using one = await openStore({ kind: 'postgres', url });
  await using two = await openStore({ kind: 'postgres', url });
  const { id } = await one.create({ key: 'agent:main:main' });
  const lease = await one.lease(id);
  const ask = (): Promise<unknown> => two.lease(id, { waitMs: 0 });
  await expect(ask()).rejects.toMatchObject({ code: 'LEASE_HELD' });
  {
    await using _ = await hold(database.url, (tx) => lockSession(tx, id));
    const holder = { engineId: expect.any(String), pid: process.pid };
    await expect(ask()).rejects.toMatchObject({
      code: 'LEASE_HELD',
      details: { holder, epoch: lease.epoch },
    });
  }
  await lease.release();
  await using next = await two.lease(id, { waitMs: 0 });
  expect(next.epoch).toBeGreaterThan(lease.epoch);
});
