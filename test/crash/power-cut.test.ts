import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { assertClean } from '../../testing/crash/judge.ts';
import { powerCutSupport } from '../../testing/crash/power-cut.ts';
import { powerCutRounds } from '../../testing/crash/power-cut-rounds.ts';

const script = fileURLToPath(new URL('../support/processes/toy-driver.ts', import.meta.url));
const ROUNDS = Number(process.env['REPRISE_CRASH_ROUNDS'] ?? 1);

for (const fileSystem of ['ext4', 'xfs'] as const) {
  const { supported, reason } = await powerCutSupport(fileSystem);
  const title = supported
    ? `power cuts on ${fileSystem}`
    : `power cuts on ${fileSystem} (skipped: ${reason})`;
  const load = { fileSystem, drivers: 2, sessions: 2, rounds: ROUNDS, seed: 5 };

  describe.skipIf(!supported)(title, () => {
    test('take nothing from a store that syncs before it answers', async () => {
      const report = await powerCutRounds({ ...load, store: 'correct', script });
      console.log(`correct: ${report.line}`);
      assertClean(report.history);
      expect(report).toMatchObject({ cuts: ROUNDS, history: { unknown: 0 } });
      expect(report.unknown).toBeGreaterThan(0);
    }, 600_000);

    test('show a store that does not sync', async () => {
      const report = await powerCutRounds({ ...load, store: 'no-sync', script, rounds: 8 });
      console.log(`no-sync: ${report.line}`);
      expect(report.history.lost).toBeGreaterThan(0);
    });

    test.skipIf(!existsSync('src/store/jsonl/open.ts')).each(['jsonl', 'sqlite'])(
      'T09: take nothing from the %s store',
      async (store) => {
        const report = await powerCutRounds({ ...load, store });
        console.log(`${store}: ${report.line}`);
        assertClean(report.history);
        expect(report.cuts).toBe(ROUNDS);
      },
      600_000,
    );
  });
}
