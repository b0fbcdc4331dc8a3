// @module-tag long
import { test } from 'vitest';
import { serverRounds, serverStop } from '../support/server/server-rounds.ts';

const ROUNDS = Number(process.env['REPRISE_CRASH_ROUNDS'] ?? 2);
const SEED = Number(process.env['REPRISE_CRASH_SEED'] ?? 22);
const look = (home: string) => ({ store: 'jsonl', home });

test(
  'T22: a server killed again and again under 16 clients keeps each acknowledged message once, and answers it once',
  async () => console.log(await serverRounds({ rounds: ROUNDS, seed: SEED, look })),
  240_000 + ROUNDS * 20_000,
);

test(
  'T95: SIGTERM under 16 clients that keep sending ends it in order; what was acknowledged is stored and answered',
  async () => console.log(await serverStop({ seed: SEED, look })),
  300_000,
);
