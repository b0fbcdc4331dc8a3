// @module-tag long
import { expect, test } from 'vitest';
import { soakServer } from '../support/server/server-soak.ts';

const SECONDS = Number(process.env['REPRISE_SOAK_SECONDS'] ?? 3);

test(
  'T91 16 clients that write, read, list and listen at once meet no error, and every message is stored once',
  async () => {
    // How long things took is for `npm run bench`: here it would depend on who else uses the machine.
    const { findings, history, line } = await soakServer({ seed: 91, seconds: SECONDS });
    console.log(`T91 ${line}`);
    expect(findings).toEqual([]);
    // Each of them was heard; how much more they say depends on who else uses the machine.
    expect(history.acknowledged).toBeGreaterThanOrEqual(16);
  },
  120_000 + SECONDS * 5000,
);
