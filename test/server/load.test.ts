import { expect, test } from 'vitest';
import { soakServer } from '../support/server-soak.ts';

const SECONDS = Number(process.env['REPRISE_SOAK_SECONDS'] ?? 3);

test(
  'T91 16 clients that write, read, list and listen at once meet no error, and everything said is kept once',
  async () => {
    const { findings, history, appendP99, loopP99, line } = await soakServer({ seed: 91, seconds: SECONDS });
    console.log(`T91 ${line}`);
    expect(findings).toEqual([]);
    expect(history.acknowledged).toBeGreaterThan(16);
    // Twenty times what is promised of a machine that does nothing else.
    expect(appendP99).toBeLessThan(2000);
    expect(loopP99).toBeLessThan(2000);
  },
  120_000 + SECONDS * 5000,
);
