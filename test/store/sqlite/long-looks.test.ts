// @module-tag long
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { TranscriptFiles } from '../../../src/store/jsonl/transcript-files.ts';
import type { SearchResult } from '../../../src/store/port/search.ts';
import type { NewEntry, Store } from '../../../src/store/port/store.ts';
import { Database } from '../../../src/store/sqlite/database.ts';
import { fileSource } from '../../../src/store/sqlite/read/lines.ts';
import { searchSessions } from '../../../src/store/sqlite/search/search.ts';
import type { Steps } from '../../../src/store/sqlite/threads/steps.ts';
import { takenIn, writeSealedSession } from '../../support/store/sealed-home.ts';

const BIG = 20_000;
/** More than a search takes from the list at once. */
const SESSIONS = Array.from({ length: 620 }, (_, i) => `s${String(i).padStart(3, '0')}`);
const say = (content: string): NewEntry => ({ type: 'message', message: { role: 'user', content } });

let home = '';
let store: Store;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'reprise-long-'));
  writeSealedSession(home, {
    id: 'big',
    agentId: 'big',
    messages: BIG,
    bytes: 1200,
    say: (i) => (i % 500 === 0 ? `needle-${i}` : ''),
  });
  for (const id of SESSIONS) writeSealedSession(home, { id, messages: 4, say: () => `of-${id}` });
  store = await openStore({ home, durability: 'os' });
  await takenIn(store);
});
afterAll(async () => {
  await store[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

describe('a long read blocks no other request', () => {
  /** Without a thread for searches: everything is looked up by the one that reads. */
  let reading: Store;
  beforeAll(async () => {
    reading = await openStore({ home, durability: 'os', search: 'scan' });
    // Once, so that it need not compare the index with the transcripts any more.
    await reading.verify();
  });
  afterAll(() => reading[Symbol.asyncDispose]());

  test.each<[string, (store: Store) => Promise<unknown>]>([
    ['verify', (store) => store.verify('big')],
    ['search', (store) => store.search({ text: 'нигде', budgetMs: 600_000 })],
    ['export', (store) => store.exportSession('big')],
    ['the tail of a session that was never compacted', (store) => store.tail('big')],
    ['a page of everything', (store) => store.read('big', { limit: BIG })],
  ])(
    '%s: records and lists are answered before it, though they were requested later',
    async (_name, look) => {
      const answered: string[] = [];
      const ask = async (name: string, asked: Promise<unknown>): Promise<void> => {
        await asked;
        answered.push(name);
      };
      await Promise.all([
        ask('look', look(reading)),
        ...Array.from({ length: 5 }, () => ask('record', reading.get('s001'))),
        ...Array.from({ length: 5 }, () => ask('list', reading.list({ limit: 5 }))),
      ]);
      expect(answered.indexOf('look')).toBe(10);
    },
  );

  test('closing ends it, and its caller gets an error', async () => {
    // With an index of all words, the answer would come at once: no message contains this one.
    const closing = await openStore({ home, search: 'scan' });
    // Once, so that it need not compare the index with the transcripts any more.
    await closing.verify();
    const ends = Promise.allSettled([
      closing.verify(),
      closing.search({ text: 'нигде', budgetMs: 600_000 }),
      closing.get('big'),
    ]);
    await closing[Symbol.asyncDispose]();
    const told = { status: 'rejected', reason: { code: 'STORE_FAILED', outcome: 'none' } };
    expect(await ends).toMatchObject([told, told, { status: 'fulfilled' }]);
  });
});

test('a page of everything has everything, in both directions, however many parts it came in', async () => {
  const seqs = Array.from({ length: BIG + 1 }, (_, i) => i + 1);
  const forward = await store.read('big', { limit: BIG + 1 });
  expect(forward.entries.map(({ seq }) => seq)).toEqual(seqs);
  expect(forward).toMatchObject({ lastSeq: BIG + 1, hasMore: false });
  const backward = await store.read('big', { limit: BIG + 1, direction: 'backward' });
  expect(backward.entries.map(({ seq }) => seq)).toEqual(seqs.toReversed());
  expect((await store.tail('big')).entries.map(({ seq }) => seq)).toEqual(seqs.slice(1));
});

describe('search', () => {
  test('finds every message, wherever a look at the file ended', async () => {
    const { hits, complete } = await store.search({
      text: 'MESSAGE ',
      limit: BIG,
      agentId: 'big',
      budgetMs: 600_000,
    });
    expect(complete).toBe(true);
    const seqs = Array.from({ length: BIG }, (_, i) => i + 2);
    expect(hits.map(({ seq }) => seq)).toEqual(seqs.toReversed());
  });

  test('finds the few that hold a word, and parses no more than it must', async () => {
    const { hits } = await store.search({ text: 'needle-', limit: 1000, budgetMs: 600_000 });
    const seqs = Array.from({ length: BIG / 500 }, (_, i) => i * 500 + 2);
    expect(hits.map(({ id, seq }) => [id, seq])).toEqual(seqs.toReversed().map((seq) => ['big', seq]));
  });

  test.each([-1, Number.NaN])('has a budget that is a time, not %s', async (budgetMs) => {
    await expect(store.search({ text: 'x', budgetMs })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('that runs out of time says so and gives what it has found', async () => {
    const { hits, complete } = await store.search({ text: 'of-s', limit: 1000, budgetMs: 0 });
    expect(complete).toBe(false);
    expect(hits.length).toBeLessThan(4 * SESSIONS.length);
  });

  /** Step by step on a separate connection, so that a test can act between two steps. */
  function search(text: string): { readonly step: () => boolean; readonly finish: () => SearchResult } {
    const db = new Database({ path: join(home, 'control.db'), durability: 'os', readOnly: true });
    const source = fileSource(db, new TranscriptFiles(home));
    const steps: Steps<SearchResult> = searchSessions(db, source, { text, limit: 1000, budgetMs: 600_000 });
    const next = (): IteratorResult<undefined, SearchResult> => steps.next();
    return {
      step: () => next().done !== true,
      finish: () => {
        for (;;) {
          const step = next();
          if (step.done !== true) continue;
          db.close();
          return step.value;
        }
      },
    };
  }

  test('finds a session that was appended to while it was on its way there', async () => {
    const { sessions } = await store.list({ limit: 1000 });
    const oldest = sessions.findLast(({ id }) => id !== 'big')?.id ?? '';
    const { step, finish } = search(`of-${oldest}`);
    for (let i = 0; i < 3; i++) expect(step()).toBe(true);
    await store.append(oldest, [say('this moves it to the front of the list')]);
    const { hits, complete } = finish();
    expect(complete).toBe(true);
    expect(hits.filter(({ id }) => id === oldest)).toHaveLength(4);
  });

  test('continues when sessions are deleted, purged and created meanwhile', async () => {
    const { step, finish } = search('of-s00');
    for (let i = 0; i < 3; i++) expect(step()).toBe(true);
    await store.delete('s003');
    await store.purge('s003');
    await store.delete('s004');
    await store.create({ id: 'fresh', key: 'agent:main:main' });
    await store.append('fresh', [say('of-s00, but later')]);
    const { hits } = finish();
    const found = new Set(hits.map(({ id }) => id));
    expect([...found].sort()).toEqual(['s000', 's001', 's002', 's005', 's006', 's007', 's008', 's009']);
    expect(hits).toHaveLength(4 * found.size);
  });
});
