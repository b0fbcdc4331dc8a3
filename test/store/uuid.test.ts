import { expect, test } from 'vitest';
import { uuidv7 } from '../../src/store/common/uuid.ts';

test('ids of sessions and messages are version 7, differ, and say when they were made', () => {
  const before = Date.now();
  const ids = Array.from({ length: 1000 }, () => uuidv7());
  const after = Date.now();
  expect(new Set(ids.map((id) => id.slice(14))).size).toBe(ids.length);
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const made = Number.parseInt(id.replace('-', '').slice(0, 12), 16);
    expect(made >= before && made <= after).toBe(true);
  }
});
