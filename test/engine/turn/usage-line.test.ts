import { expect, test } from 'vitest';
import { usageLine } from '../../../src/engine/turn/usage-line.ts';

const usage = { input: 1200, output: 340, cacheRead: 9000, cacheWrite: 0, totalTokens: 10_540 };

test('a reply says what it took only where that was asked for', () => {
  expect(usageLine(usage, 0.01, 'off')).toBeUndefined();
  expect(usageLine(usage, 0.01, 'on')).toBe('Tokens: 10,200 in, 340 out');
  expect(usageLine(usage, 0.01, 'tokens')).toBe(usageLine(usage, undefined, 'on'));
  expect(usageLine(usage, 0.01234, 'full')).toBe('Tokens: 10,200 in, 340 out, 9,000 from cache, cost 0.012');
});

test('an unknown cost is not shown, and a small one is not rounded to nothing', () => {
  expect(usageLine(usage, undefined, 'full')).toBe('Tokens: 10,200 in, 340 out, 9,000 from cache');
  const cost = (total: number): string | undefined =>
    usageLine({ ...usage, cacheRead: 0, cacheWrite: 5, cost: { total } }, undefined, 'full')
      ?.split(', ')
      .at(-1);
  expect([0, 0.000034, 0.5, 12.345].map(cost)).toEqual([
    'cost 0.00',
    'cost 0.000034',
    'cost 0.50',
    'cost 12.35',
  ]);
});
