import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { TestHome } from '../../support/store/store-faults.ts';

const user = (content: string): { type: string; message: object } => ({
  type: 'message',
  message: { role: 'user', content },
});

/** The SQLite store keeps its journal: one row per session and transaction. */
function ask<T>({ home }: TestHome, sql: string): T[] {
  const db = new DatabaseSync(join(home, 'store.db'), { timeout: 5000 });
  try {
    return db.prepare(sql).all() as T[];
  } finally {
    db.close();
  }
}

const commits = (at: TestHome): number =>
  Number(ask<{ number: number }>(at, 'SELECT number FROM commits')[0]?.number);

test('a transaction takes no more than 1 MiB of entries or 256 appends, and at least one of any size', async () => {
  using at = new TestHome();
  await using store = await openStore({ kind: 'sqlite', home: at.home, durability: 'os' });
  const { id } = await store.create({ key: 'agent:main:main' });
  const large = 3 * 1024 * 1024;
  const sizes = [
    ...Array.from({ length: 100 }, () => 50_000),
    large,
    ...Array.from({ length: 600 }, () => 100),
    large,
  ];
  const receipts = await Promise.all(sizes.map((size) => store.append(id, [user('x'.repeat(size))])));
  expect(receipts.map(({ firstSeq }) => firstSeq)).toEqual(sizes.map((_, i) => i + 2));
  const rows = ask<{ bytes: number; lines: number; first_seq: number }>(
    at,
    'SELECT length(bytes) AS bytes, last_seq - first_seq + 1 AS lines, first_seq FROM journal ORDER BY first_seq',
  );
  for (const { bytes, lines, first_seq } of rows) {
    const last = sizes[first_seq + lines - 3] ?? 0;
    // The one that passes the mark is the last.
    expect(bytes - last).toBeLessThan(1024 * 1024 + 1000);
    expect(lines).toBeLessThanOrEqual(256);
  }
  // Together all the same: else a limit of one would pass here.
  expect(Math.max(...rows.map(({ lines }) => lines))).toBeGreaterThan(10);
});

test('a transaction takes no more than 64 sessions', async () => {
  using at = new TestHome();
  await using store = await openStore({ kind: 'sqlite', home: at.home, durability: 'os' });
  const ids = Array.from({ length: 200 }, (_, i) => `s${i}`);
  await Promise.all(ids.map((id) => store.create({ id, key: `agent:main:subagent:${id}` })));
  const before = commits(at);
  const receipts = await Promise.all(ids.map((id) => store.append(id, [user('x')])));
  expect(receipts.every(({ firstSeq }) => firstSeq === 2)).toBe(true);
  const took = commits(at) - before;
  expect(took).toBeGreaterThanOrEqual(4);
  expect(took).toBeLessThan(100);
});
