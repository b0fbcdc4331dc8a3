import { expect, test } from 'vitest';
import { exportOf } from '../support/same-bytes.ts';

test('T24 the same operations give the same bytes on every store', async () => {
  const [memory, sqlite, jsonl] = await Promise.all(
    (['memory', 'sqlite', 'jsonl'] as const).map((kind) => exportOf({ kind })),
  );
  expect(memory?.toString().split('\n').length).toBeGreaterThan(14);
  expect(memory?.toString().match(/"blob":"sha256:/g)).toHaveLength(2);
  expect(sqlite?.equals(memory ?? Buffer.alloc(0))).toBe(true);
  expect(jsonl?.equals(memory ?? Buffer.alloc(0))).toBe(true);
});
