import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextRound } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { UsageBook } from '../../../src/engine/admin/usage-book.ts';
import { UsageCounter } from '../../../src/engine/admin/usage-counter.ts';
import { USAGE_NOTES } from '../../../src/engine/admin/usage-note.ts';
import { reportOf, UsageSums } from '../../../src/engine/admin/usage-sums.ts';
import { RepriseError } from '../../../src/errors.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import type { NewEntry, Store } from '../../../src/store/port/store.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import type { Entry } from '../../../src/transcript/entry.ts';
import type { JsonObject } from '../../../src/transcript/json.ts';

const EVER = { from: '2000-01-01', to: '2999-12-31' };
const open = new AbortController().signal;

/** What adding up every line of every session gives. */
async function byReadingAll(store: Store): Promise<object> {
  const agents = new Map<string, UsageSums>();
  const { sessions } = await store.list({ status: 'any', limit: 1000 });
  for (const record of sessions) {
    const sums = agents.get(record.agentId) ?? new UsageSums();
    agents.set(record.agentId, sums);
    const counter = new UsageCounter({ hasParent: record.parentId !== undefined });
    const { entries } = await store.read(record.id, { limit: 100_000 });
    for (const { entry } of entries) for (const fact of counter.take(entry as Entry)) sums.add(fact);
    for (const fact of counter.unclaimed()) sums.add(fact);
  }
  const { agents: byAgent, models, ...rest } = reportOf(agents, EVER);
  return { ...rest, agents: ordered(byAgent), models: ordered(models) };
}

async function byTheBook(book: UsageBook): Promise<object> {
  const { agents, models, complete, ...rest } = await book.look({ ...EVER, budgetMs: 600_000 });
  expect(complete).toBe(true);
  return { ...rest, agents: ordered(agents), models: ordered(models) };
}

/** Those with equal tokens stand in no order. */
function ordered(rows: readonly object[]): string[] {
  return rows.map((row) => JSON.stringify(row)).sort();
}

function usage(total: number): object {
  return {
    input: total - 10,
    output: 10,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: total,
    cost: { total: 0.5 },
  };
}

function answer(model: string, total: number): NewEntry {
  const content = [{ type: 'text', text: 'a' }];
  return {
    type: 'message',
    message: { role: 'assistant', content, provider: 'p', model, usage: usage(total) },
  };
}

function turn(models: readonly string[], total: number, status = 'done'): NewEntry {
  const calls = models.map((model) => ({ provider: 'p', model, usage: usage(total) }));
  return { type: 'custom', customType: 'reprise.turn', data: { turnId: 't', status, calls } };
}

const OTHERS: readonly NewEntry[] = [
  { type: 'message', message: { role: 'user', content: 'hello' } },
  { type: 'compaction', summary: 's', firstKeptEntryId: 'x', tokensBefore: 1 },
  { type: 'context_edit', targetId: 'x', replacement: null },
  { type: 'custom', customType: 'reprise.repair', data: {} },
  { ...answer('m', 70), copiedAt: '2020-02-02T00:00:00.000Z' },
];

test('after any sends, deletions, purges and forks, the book equals a full count', async () => {
  const entry = fc.oneof(
    fc.constantFrom(...OTHERS),
    fc.tuple(fc.constantFrom('m', 'n'), fc.integer({ min: 10, max: 99 })).map(([m, n]) => answer(m, n)),
    fc
      .tuple(
        fc.array(fc.constantFrom('m', 'n'), { maxLength: 3 }),
        fc.integer({ min: 10, max: 99 }),
        fc.constantFrom('done', 'error'),
      )
      .map(([models, n, status]) => turn(models, n, status)),
  );
  const step = fc.record({
    session: fc.nat(3),
    entries: fc.array(entry, { maxLength: 4 }),
    does: fc.constantFrom('say', 'say', 'say', 'delete', 'restore', 'purge', 'fork'),
    isAsked: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      await using store = await openMemoryStore({});
      const book = new UsageBook(store, open, { compareMs: 0 });
      const ids = ['s0', 's1', 's2', 's3'];
      let made = 4;
      const anew = (): UsageBook => new UsageBook(store, open, { compareMs: 0 });
      for (const { session, entries, does, isAsked } of steps) {
        const id = ids[session] ?? '';
        const agent = session % 2 === 0 ? 'main' : 'other';
        const { status } = await store.create({ id, key: `agent:${agent}:session:${id}` });
        if (does === 'delete' || does === 'purge') await store.delete(id);
        if (does === 'restore') await store.restore(id);
        if (does === 'say' && status === 'open' && entries.length > 0) await store.append(id, entries);
        if (does === 'purge') await store.purge(id);
        if (does === 'purge' || does === 'fork') ids[session] = `s${made++}`;
        if (does === 'fork' && status === 'open') {
          const fork = `f${made++}`;
          await store.create({ id: fork, key: `agent:${agent}:session:${fork}`, parentId: id });
          await store.append(fork, [{ ...answer('m', 50), copiedAt: '2020-01-01T00:00:00.000Z' }]);
        }
        // By one that was there before, and by one that knows the notes of it only.
        if (isAsked) expect(await byTheBook(book)).toEqual(await byReadingAll(store));
        if (isAsked) expect(await byTheBook(anew())).toEqual(await byReadingAll(store));
      }
      expect(await byTheBook(book)).toEqual(await byReadingAll(store));
    }),
    { numRuns: Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 25), seed: 11 },
  );
}, 120_000);

test('a line is read once, however often usage is queried, also by another process', async () => {
  const home = await mkdtemp(join(tmpdir(), 'reprise-usage-'));
  onTestFinished(() => rm(home, { recursive: true }));
  await using ours = await openSqliteStore({ home });
  await using theirs = await openSqliteStore({ home });
  const { id } = await theirs.create({ key: 'agent:main:main' });
  await theirs.append(id, [answer('m', 50), turn(['m'], 50)]);
  let lines = 0;
  const counted: Pick<Store, 'list' | 'read' | 'notes' | 'stats'> = {
    notes: ours.notes,
    stats: () => ours.stats(),
    list: (query) => ours.list(query),
    read: async (...args) => {
      const page = await ours.read(...args);
      lines += page.entries.length;
      return page;
    },
  };
  const book = new UsageBook(counted, open);
  for (let asked = 0; asked < 3; asked++) {
    const { total, complete } = await book.look({ ...EVER, budgetMs: 600_000 });
    expect([total.turns, total.calls, total.totalTokens, complete]).toEqual([1, 1, 50, true]);
    expect(lines).toBe(3);
  }
  await theirs.append(id, [turn(['m', 'n'], 20, 'error')]);
  const { total, models, days } = await book.look({ ...EVER, budgetMs: 600_000 });
  expect(total).toMatchObject({ turns: 2, failed: 1, calls: 3, totalTokens: 90, cost: 1.5 });
  expect(models.map(({ model, totalTokens }) => [model, totalTokens])).toEqual([
    ['p:m', 70],
    ['p:n', 20],
  ]);
  // Two, if midnight came in between.
  expect(days.reduce((sum, { turns }) => sum + turns, 0)).toBe(2);
  // The new one, and the one before it, to see that it is still the same.
  expect(lines).toBe(5);
  const next = new UsageBook(counted, open);
  expect((await next.look({ ...EVER, budgetMs: 600_000 })).total).toEqual(total);
  expect(lines).toBe(5);
});

test('a caller that does not wait gets the progress, and counting continues meanwhile', async () => {
  await using store = await openMemoryStore({});
  const { id } = await store.create({ key: 'agent:main:main' });
  await store.append(id, [turn(['m'], 50)]);
  const gate = Promise.withResolvers<void>();
  const slow: Pick<Store, 'list' | 'read' | 'notes' | 'stats'> = {
    notes: store.notes,
    stats: () => store.stats(),
    list: (query) => store.list(query),
    read: async (...args) => {
      await gate.promise;
      return store.read(...args);
    },
  };
  const book = new UsageBook(slow, open);
  const early = await book.look({ ...EVER, budgetMs: 1 });
  expect(early).toMatchObject({ complete: false, total: { turns: 0 } });
  gate.resolve();
  const late = await book.look({ ...EVER, budgetMs: 600_000 });
  expect(late).toMatchObject({ complete: true, total: { turns: 1, totalTokens: 50 } });
  expect(late).not.toHaveProperty('progress');
  expect(await book.look({ from: '2001-01-01', to: '2001-12-31' })).toMatchObject({
    total: { turns: 0 },
    days: [],
  });
});

test('several who count beside each other, each on the notes of the other, say the same', async () => {
  await using store = await openMemoryStore({});
  const books = [1, 2, 3].map(() => new UsageBook(store, open));
  for (const id of ['a', 'b']) await store.create({ id, key: `agent:main:session:${id}` });
  for (let round = 0; round < 12; round++) {
    await store.append(round % 3 === 0 ? 'a' : 'b', [answer('m', 20 + round), turn(['m'], 20 + round)]);
    if (round % 4 === 3) await store.append('a', [answer('n', 30)]);
    const book = books[round % books.length] ?? new UsageBook(store, open);
    expect(await byTheBook(book)).toEqual(await byReadingAll(store));
  }
  for (const book of books) expect(await byTheBook(book)).toEqual(await byReadingAll(store));
});

test('a store that takes no notes, loses them or has notes of something else is counted all the same', async () => {
  await using store = await openMemoryStore({});
  await store.create({ id: 'a', key: 'agent:main:main' });
  await store.append('a', [turn(['m'], 50)]);
  const refusing = {
    ...{ list: store.list.bind(store), read: store.read.bind(store), stats: store.stats.bind(store) },
    notes: {
      ...store.notes,
      put: async () => Promise.reject(new RepriseError('STORE_READ_ONLY', 'only to be read')),
    },
  };
  const held = new UsageBook(refusing, open, { compareMs: 0 });
  expect(await byTheBook(held)).toEqual(await byReadingAll(store));
  await store.append('a', [turn(['m', 'n'], 20)]);
  expect(await byTheBook(held)).toEqual(await byReadingAll(store));
  const book = new UsageBook(store, open, { compareMs: 0 });
  await byTheBook(book);
  const notes: readonly JsonObject[] = [
    { mood: 1 },
    { agentId: 'main', at: 'another', hasParent: false, sums: [], unclaimed: [] },
  ];
  for (const value of notes) {
    for (const seq of [1, 2, 99]) {
      await store.notes.put(USAGE_NOTES, [{ id: 'a', seq, value }]);
      await store.append('a', [turn(['m'], 30)]);
      expect(await byTheBook(book), 'one that knew better').toEqual(await byReadingAll(store));
      await store.notes.put(USAGE_NOTES, [{ id: 'a', seq, value }]);
      expect(await byTheBook(new UsageBook(store, open)), 'one that knew nothing').toEqual(
        await byReadingAll(store),
      );
    }
  }
});

test('a session that is spoken in while all are compared is counted', async () => {
  await using store = await openMemoryStore({});
  for (const id of ['a', 'b', 'c']) {
    await store.create({ id, key: `agent:main:session:${id}` });
    await store.append(id, [turn(['m'], 50)]);
  }
  let isSpoken = false;
  // In pages of one, and between the first two of them each session in turn becomes the newest.
  const small = (spokenIn: string): Pick<Store, 'list' | 'read' | 'notes' | 'stats'> => ({
    notes: store.notes,
    stats: () => store.stats(),
    read: (...args) => store.read(...args),
    list: async (query) => {
      const page = await store.list({ ...query, limit: 1 });
      if (isSpoken) return page;
      isSpoken = true;
      // Two of the same millisecond stand by their ids, and would not move.
      const [newest] = (await store.list({ limit: 1 })).sessions;
      while (new Date().toISOString() <= (newest?.lastAt ?? '')) await nextRound();
      await store.append(spokenIn, [turn(['m'], 20)]);
      return page;
    },
  });
  for (const compareMs of [0, 60_000]) {
    for (const id of ['a', 'b', 'c']) {
      isSpoken = true;
      const book = new UsageBook(small(id), open, { compareMs });
      await byTheBook(book);
      // All sessions have changed: to be found by looking through the newest, too.
      for (const each of ['a', 'b', 'c']) await store.append(each, [answer('n', 30)]);
      isSpoken = false;
      expect(await byTheBook(book), `${id} ${compareMs}`).toEqual(await byReadingAll(store));
    }
  }
});

test('an answer without a session that could not be read says so, until it can be', async () => {
  await using store = await openMemoryStore({});
  for (const id of ['a', 'b']) {
    await store.create({ id, key: `agent:main:session:${id}` });
    await store.append(id, [turn(['m'], 50)]);
  }
  const refusal = { code: 'STORE_BUSY' as 'STORE_BUSY' | 'STORE_FAILED' | 'GONE' | undefined };
  const refusing: Pick<Store, 'list' | 'read' | 'notes' | 'stats'> = {
    notes: store.notes,
    stats: () => store.stats(),
    // As while an index is rebuilt: of sessions that were not read only the header is known.
    list: async (query) => {
      const { sessions, cursor } = await store.list({ ...query, limit: 1 });
      const isUnread = refusal.code === 'STORE_BUSY';
      return { sessions: sessions.map((one) => (isUnread ? { ...one, lastSeq: 0 } : one)), cursor };
    },
    read: async (id, query) => {
      if (id === 'a' && refusal.code !== undefined) throw new RepriseError(refusal.code, 'not now');
      return store.read(id, query);
    },
  };
  const book = new UsageBook(refusing, open);
  for (const code of ['STORE_FAILED', 'STORE_FAILED', 'STORE_BUSY'] as const) {
    refusal.code = code;
    const { complete, progress, total } = await book.look({ ...EVER, budgetMs: 600_000 });
    expect([code, complete, total.turns]).toEqual([code, false, 1]);
    if (code === 'STORE_FAILED') expect(progress?.done).toBeLessThan(progress?.total ?? 0);
  }
  refusal.code = undefined;
  expect(await byTheBook(book)).toEqual(await byReadingAll(store));
  await store.append('a', [turn(['m'], 50)]);
  refusal.code = 'GONE';
  expect(await book.look({ ...EVER, budgetMs: 600_000 }), 'purged meanwhile').toMatchObject({
    complete: true,
  });
});

test('sums that could not be set right are not called complete', async () => {
  await using store = await openMemoryStore({});
  await store.create({ id: 'a', key: 'agent:main:main' });
  await store.append('a', [turn(['m'], 50)]);
  const isRewritten = { value: false };
  await byTheBook(new UsageBook(store, open));
  const first = await store.notes.list(USAGE_NOTES);
  // As if the transcript were another one between any two looks at its note.
  const rewritten: Pick<Store, 'list' | 'read' | 'notes' | 'stats'> = {
    notes: {
      list: async (name, options) => (isRewritten.value ? first : store.notes.list(name, options)),
      put: (name, notes) => store.notes.put(name, notes),
      get: async (name, id) => {
        const note = await store.notes.get(name, id);
        return isRewritten.value && note !== undefined ? { ...note, seq: 99 } : note;
      },
    },
    read: (...args) => store.read(...args),
    stats: () => store.stats(),
    list: (query) => store.list(query),
  };
  const book = new UsageBook(rewritten, open);
  await byTheBook(book);
  isRewritten.value = true;
  await store.append('a', [turn(['m'], 20)]);
  expect(await book.look({ ...EVER, budgetMs: 600_000 })).toMatchObject({ complete: false });
  isRewritten.value = false;
  expect(await byTheBook(book)).toEqual(await byReadingAll(store));
});

test('sessions that were imported count at once, although they are older than a thousand others', async () => {
  await using store = await openMemoryStore({});
  const key = (i: number): string => `agent:main:session:s${i}`;
  await Promise.all(Array.from({ length: 1001 }, (_, i) => store.create({ key: key(i) })));
  const book = new UsageBook(store, open);
  await byTheBook(book);
  const createdAt = '2020-01-01T00:00:00.000Z';
  const { id } = await store.create({ key: key(-1), createdAt });
  await store.append(id, [{ ...answer('m', 70), copiedAt: createdAt }]);
  const { total, days } = await book.look({ ...EVER, budgetMs: 600_000 });
  expect(total.totalTokens).toBe(70);
  expect(days.map(({ day }) => day)).toEqual(['2020-01-01']);
});
