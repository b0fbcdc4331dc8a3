import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { SearchQuery, Store } from '../../src/store/store.ts';
import { plainSearch } from './plain-search.ts';
import { writeSealedSession } from './sealed-home.ts';

const TOPICS = ['red foxes', '明天的会议', 'привет мир', 'foo.bar(baz)', '--dry-run', '😀 smiles', 'plans'];

/** Words nobody and somebody said, of one, two and more characters, in several scripts. */
export const QUERIES: readonly SearchQuery[] = [
  ...[
    'foxes',
    'RED fox',
    '"red foxes"',
    '会议',
    '议',
    'ПРИВЕТ',
    'foo.bar(',
    '--dry',
    '😀',
    'message 17 ',
    'x',
  ].map((text) => ({ text })),
  { text: 'message', limit: 7 },
  { text: 'words', agentId: 'other', limit: 300 },
  { text: 'message 5', sessionId: 's3', limit: 300 },
  { text: 'nobody said this' },
];

/** A home with some sessions in it, as another process left them. */
export function makeSearchedHome({ sessions, messages }: { sessions: number; messages: number }): string {
  const home = mkdtempSync(join(tmpdir(), 'reprise-search-'));
  for (let i = 0; i < sessions; i++)
    writeSealedSession(home, {
      id: `s${i}`,
      agentId: i % 4 === 0 ? 'other' : 'main',
      messages,
      bytes: 900,
      say: (n) => TOPICS[(n * 3 + i) % (TOPICS.length * 3)] ?? '',
    });
  return home;
}

export function removeHome(home: string): void {
  rmSync(home, { recursive: true, force: true });
}

/** What a search means, against what the store answers. */
export async function expectSame(store: Store, queries: readonly SearchQuery[] = QUERIES): Promise<void> {
  const { sessions } = await store.list({ limit: 1000 });
  const all = await Promise.all(
    sessions.map(async ({ id, sessionKey: key }) => ({
      ...{ id, key, deleted: false },
      entries: (await store.read(id, { limit: 100_000 })).entries,
    })),
  );
  expect(all.length).toBeGreaterThan(0);
  for (const query of queries) {
    const found = await store.search({ budgetMs: 60_000, ...query });
    expect({ query, ...found }).toEqual({ query, ...plainSearch(all, query) });
  }
}

/** Resolves when the index has everything. */
export async function isIndexed(store: Store): Promise<void> {
  for (;;) {
    const { search } = await store.stats({ search: true });
    if (search !== undefined && search.done === search.total && search.total > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
