import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { openStore } from '../../src/config/open.ts';
import { entryIdForSeq } from '../../src/exports/transcript.ts';
import { RepriseError } from '../../src/index.ts';
import type { NewEntry, Store } from '../../src/store/port/store.ts';
import { EPOCH_JUMP } from '../../src/store/rules/epoch-jump.ts';
import { TailCache } from '../../src/store/shared/tail-cache.ts';
import type { SessionRow } from '../../src/store/sqlite/session-row.ts';
import { appendForeign, FOREIGN_KINDS } from '../support/store/foreign-lines.ts';
import { transcriptPath } from '../support/store/sealed-home.ts';
import { until } from '../support/store/store-faults.ts';

const IDS = ['s1', 's2'] as const;
const say = (content: string): NewEntry => ({ type: 'message', message: { role: 'user', content } });
const entry: fc.Arbitrary<NewEntry> = fc.oneof(
  fc.constantFrom(1, 40_000).map((size) => say('x'.repeat(size))),
  fc.integer({ min: 2, max: 30 }).map((seq) => ({
    type: 'compaction',
    summary: 's',
    firstKeptEntryId: entryIdForSeq(seq),
    tokensBefore: 1,
  })),
  fc.integer({ min: 2, max: 30 }).map((seq) => ({
    type: 'custom',
    customType: 'reprise.leaf',
    parentId: entryIdForSeq(seq),
  })),
  fc.constant<NewEntry>({ type: 'label', targetId: entryIdForSeq(2), label: 'x' }),
);
const id = fc.constantFrom(...IDS);
const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('append' as const),
      id,
      entries: fc.array(entry, { minLength: 1, maxLength: 3 }),
      by: fc.constantFrom('warm' as const, 'cold' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('foreign' as const),
      id,
      kind: fc.constantFrom(...FOREIGN_KINDS),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constantFrom('delete' as const, 'restore' as const, 'purge' as const, 'patch' as const),
      id,
    }),
  },
);

async function answer(look: Promise<unknown>): Promise<unknown> {
  try {
    return await look;
  } catch (error) {
    if (error instanceof RepriseError) return error.code;
    throw error;
  }
}

/** Two answers without the cache that are equal leave no room for another one in between. */
async function expectSameTail(warm: Store, cold: Store, id: string): Promise<void> {
  for (;;) {
    const before = await answer(cold.tail(id));
    const kept = await answer(warm.tail(id));
    if (!isDeepStrictEqual(before, await answer(cold.tail(id)))) continue;
    expect(kept).toEqual(before);
    return;
  }
}

test.each(['jsonl', 'sqlite'] as const)(
  'with the %s store a cached tail always equals a fresh read, whatever changed',
  async (kind) => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 10, maxLength: 40 }), async (operations) => {
        const home = mkdtempSync(join(tmpdir(), 'reprise-warm-'));
        const stores = {
          warm: await openStore({ kind, home, durability: 'os' }),
          cold: await openStore({ kind, home, durability: 'os', sessionCacheTtlMs: 0 }),
        };
        const { warm, cold } = stores;
        try {
          for (const one of IDS) await warm.create({ id: one, key: `agent:main:direct:${one}` });
          // Another tool appends to files that are there.
          await until('the transcripts are there', async () => (await warm.stats()).behind === 0);
          for (const operation of operations) {
            const { op, id } = operation;
            if (op === 'append') await answer(stores[operation.by].append(id, operation.entries));
            else if (op === 'patch') await answer(cold.patch(id, { a: 1 }));
            else if (op !== 'foreign') await answer(cold[op](id));
            else if (kind === 'jsonl') {
              const record = await answer(cold.get(id));
              if (typeof record === 'object')
                appendForeign(
                  transcriptPath(home, id),
                  operation.kind,
                  (record as { leaf: string | null }).leaf,
                );
            }
            for (const one of IDS) await expectSameTail(warm, cold, one);
          }
        } finally {
          await Promise.all([warm[Symbol.asyncDispose](), cold[Symbol.asyncDispose]()]);
          rmSync(home, { recursive: true, force: true });
        }
      }),
      { numRuns: 6, seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7), endOnFailure: true },
    );
  },
  300_000,
);

test('T15 damage to a session that is warm is noticed', async () => {
  const home = mkdtempSync(join(tmpdir(), 'reprise-warm-'));
  try {
    const seeding = await openStore({ home });
    await seeding.create({ id: 's1', key: 'agent:main:main' });
    for (const text of ['one', 'two', 'three']) await seeding.append('s1', [say(text)]);
    await seeding[Symbol.asyncDispose]();
    await using store = await openStore({ home });
    expect((await store.tail('s1')).entries).toHaveLength(3);
    const path = transcriptPath(home, 's1');
    const bytes = readFileSync(path);
    bytes[bytes.indexOf('two')] = 0x54;
    writeFileSync(path, bytes);
    expect((await store.tail('s1')).entries).toHaveLength(2);
    await expect(store.append('s1', [say('four')])).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

describe('what is kept', () => {
  const row = (id: string): SessionRow => ({ id, file_size: 0, corrupt_at: null, epoch: 1 }) as SessionRow;
  const tail = (bytes: number) => ({ from: 2, to: 2, entries: [], bytes });
  const MB = 1024 * 1024;

  test('is bounded in bytes, and what was used last stays', () => {
    const cache = new TailCache(60_000);
    for (let i = 0; i < 8; i++) cache.keep(row(`s${i}`), tail(10 * MB), undefined);
    const kept = Array.from({ length: 8 }, (_, i) => cache.find(row(`s${i}`), undefined) !== undefined);
    expect(kept).toEqual([false, false, true, true, true, true, true, true]);
    cache.keep(row('huge'), tail(40 * MB), undefined);
    expect(cache.find(row('huge'), undefined)).toBeUndefined();
  });

  test('is forgotten some time after its last use', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const cache = new TailCache(20);
    const isKept = (): boolean => cache.find(row('s1'), undefined) !== undefined;
    cache.keep(row('s1'), tail(1), undefined);
    vi.advanceTimersByTime(19);
    expect(isKept()).toBe(true);
    // Read again, and kept again.
    cache.keep(row('s1'), tail(1), undefined);
    vi.advanceTimersByTime(19);
    expect(isKept()).toBe(true);
    vi.advanceTimersByTime(1);
    expect(isKept()).toBe(false);
  });

  test('is nothing when the time is zero, or the session is damaged', () => {
    const none = new TailCache(0);
    none.keep(row('s1'), tail(1), undefined);
    expect(none.find(row('s1'), undefined)).toBeUndefined();
    const cache = new TailCache(60_000);
    cache.keep(row('s1'), tail(1), undefined);
    expect(cache.find({ ...row('s1'), corrupt_at: 7 }, undefined)).toBeUndefined();
  });

  test('is for a file that is another, shorter, or changed in place no longer right', () => {
    const recorded = { ...row('s1'), file_size: 100 };
    const stamp = { inode: 1, size: 100, changedAt: 5 };
    const found = (now: typeof stamp | undefined, at: SessionRow = recorded): boolean => {
      const cache = new TailCache(60_000);
      cache.keep(recorded, tail(1), stamp);
      return cache.find(at, now) !== undefined;
    };
    expect(found(stamp)).toBe(true);
    expect(found({ ...stamp, inode: 2 })).toBe(false);
    expect(found({ ...stamp, size: 99 })).toBe(false);
    expect(found({ ...stamp, changedAt: 6 })).toBe(false);
    expect(found(undefined)).toBe(false);
    // It grew, as the row says or before the row does.
    expect(found({ inode: 1, size: 120, changedAt: 6 }, { ...recorded, file_size: 120 })).toBe(true);
    expect(found({ inode: 1, size: 120, changedAt: 6 })).toBe(true);
    // The epoch rises with every turn; it jumps when lines were lost and their numbers used again.
    expect(found(stamp, { ...recorded, epoch: 50 })).toBe(true);
    expect(found(stamp, { ...recorded, epoch: 1 + EPOCH_JUMP })).toBe(false);
    // A replica that takes over starts where the next range of epochs starts, which is nearer for a higher epoch.
    expect(found(stamp, { ...recorded, epoch: EPOCH_JUMP })).toBe(false);
  });
});

test('REPRISE_SESSION_CACHE_TTL_MS sets the time, and only a number does', async () => {
  const load = async (text?: string): Promise<number | undefined> => {
    const env = text === undefined ? {} : { REPRISE_SESSION_CACHE_TTL_MS: text };
    return (await loadConfig({ env, cwd: tmpdir() })).config.store.sessionCacheTtlMs;
  };
  expect(await load()).toBeUndefined();
  expect(await load('')).toBeUndefined();
  expect(await load('0')).toBe(0);
  expect(await load('45000')).toBe(45_000);
  for (const text of ['-1', '1.5', 'soon', '1e3'])
    await expect(load(text), text).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});
