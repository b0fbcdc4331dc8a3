import { expect, test } from 'vitest';
import { fuzz } from './support/fuzz.ts';

test('T68 mutated lines, files, keys, streams and indexes end in a result or a typed error', async () => {
  const { outcomes, slowestMs } = await fuzz({ seed: 1, rounds: 4000 });
  console.log(
    `slowest call ${slowestMs.toFixed(1)} ms; ${[...outcomes].map(([what, n]) => `${what}: ${n}`).join(', ')}`,
  );
  for (const what of [
    'line record',
    'line bad',
    'file messages',
    'file INVALID_INPUT',
    'key direct',
    'key INVALID_KEY',
    'sse messages',
    'sse nothing',
  ]) {
    expect(outcomes.get(what) ?? 0, what).toBeGreaterThan(20);
  }
  for (const what of ['index whole', 'index part', 'foreign read', 'foreign problems'])
    expect(outcomes.get(what) ?? 0, what).toBeGreaterThan(0);
});
