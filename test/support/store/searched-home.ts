import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { TranscriptFiles } from '../../../src/store/jsonl/transcript-files.ts';
import type { SearchQuery } from '../../../src/store/port/search.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { checkSearch } from '../../../src/store/search/search-query.ts';
import { Database } from '../../../src/store/sqlite/database.ts';
import { fileSource } from '../../../src/store/sqlite/read/lines.ts';
import { Backlog } from '../../../src/store/sqlite/search/search-backlog.ts';
import { originOf, SearchFile } from '../../../src/store/sqlite/search/search-file.ts';
import { SearchIndex } from '../../../src/store/sqlite/search/search-index.ts';
import { Indexer } from '../../../src/store/sqlite/search/search-indexer.ts';
import { searchIndexed } from '../../../src/store/sqlite/search/search-lookup.ts';
import { searchPath } from '../../../src/store/sqlite/search/search-state.ts';
import { type PlainSearchable, plainSearch } from '../plain-store/plain-search.ts';
import { writeSealedSession } from './sealed-home.ts';

const TOPICS = ['red foxes', '明天的会议', 'привет мир', 'foo.bar(baz)', '--dry-run', '😀 smiles', 'plans'];

/** Words that occur and words that do not, of one, two and more characters, in several scripts. */
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

/** Everything that was sent and can be found. */
export async function readEverything(store: Store): Promise<PlainSearchable[]> {
  const { sessions } = await store.list({ limit: 1000 });
  const all = sessions.map(async ({ id, sessionKey: key }) => ({
    ...{ id, key, deleted: false },
    entries: (await store.read(id, { limit: 100_000 })).entries,
  }));
  return Promise.all(all);
}

/** What a search means, against what is answered. */
export async function expectSame(
  searched: Pick<Store, 'search'>,
  all: readonly PlainSearchable[],
  queries: readonly SearchQuery[] = QUERIES,
): Promise<void> {
  expect(all.length).toBeGreaterThan(0);
  for (const query of queries) {
    const found = await searched.search({ budgetMs: 600_000, ...query });
    expect({ query, ...found }).toEqual({ query, ...plainSearch(all, query) });
  }
}

/** The parts of the thread that searches, in this thread. */
export function openSearcher(home: string): Searcher {
  const path = join(home, 'control.db');
  const db = new Database({ path, durability: 'os', readOnly: true, isFirst: true });
  const source = fileSource(db, new TranscriptFiles(home));
  const file = new SearchFile(searchPath(path), () => originOf(path));
  const index = new SearchIndex(file);
  const context = { db, source, file, index, backlog: new Backlog(db, file, index) };
  const indexer = new Indexer(context);
  return {
    file,
    search: async (query) => {
      checkSearch(query);
      const steps = searchIndexed(context, query);
      for (;;) {
        const step = steps.next();
        if (step.done === true) return step.value;
      }
    },
    /** All of it; false if it could not be done. */
    index: () => {
      context.backlog.look({ full: true });
      while (indexer.work(performance.now() + 50));
      return context.backlog.due().length === 0;
    },
    close: () => {
      file.close();
      db.close();
    },
  };
}

export interface Searcher extends Pick<Store, 'search'> {
  readonly file: SearchFile;
  readonly index: () => boolean;
  readonly close: () => void;
}

/** Resolves when the index has everything. */
export async function isIndexed(store: Store): Promise<void> {
  for (;;) {
    const { search } = await store.stats({ search: true });
    if (search !== undefined && search.done === search.total && search.total > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
