import { expect, test } from 'vitest';
import { count, counted } from '../../../src/messages/english-format.ts';

test.each([0, 7, 999, 1000, 12_345, 1_234_567, -1234, 2 ** 53 - 1, 1499.6])(
  '%d is written as Intl writes it',
  (n) => {
    expect(count(n)).toBe(Math.round(n).toLocaleString('en'));
  },
);

test('one item has no plural', () => {
  expect([counted(0, 'turn'), counted(1, 'turn'), counted(1200, 'turn')]).toEqual([
    '0 turns',
    '1 turn',
    '1,200 turns',
  ]);
});
