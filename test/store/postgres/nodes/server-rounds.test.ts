// @module-tag long
import { test } from 'vitest';
import { freshDatabase } from '../../../support/postgres/postgres.ts';
import { serverRounds } from '../../../support/server/server-rounds.ts';

const ROUNDS = Number(process.env['REPRISE_CRASH_ROUNDS'] ?? 2);

test(
  'T22: a server on PostgreSQL killed under 16 clients keeps each acknowledged message once, and answers it once',
  async () => {
    await using database = await freshDatabase();
    const env = { REPRISE_STORE: 'postgres', REPRISE_STORE_URL: database.url };
    const look = () => ({ store: 'postgres', home: '', url: database.url });
    console.log(await serverRounds({ rounds: ROUNDS, seed: 22, env, look }));
  },
  240_000 + ROUNDS * 20_000,
);
