import { expect, test } from 'vitest';
import { fuzz } from './support/fuzz.ts';

test('T68 mutated lines, files and keys end in a result or a typed error', () => {
  const { outcomes, slowestMs } = fuzz({ seed: 1, rounds: 4000 });
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
  ]) {
    expect(outcomes.get(what) ?? 0, what).toBeGreaterThan(20);
  }
});
