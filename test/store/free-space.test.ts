import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/config/open.ts';
import type { RepriseError } from '../../src/errors.ts';
import type { Store } from '../../src/store/port/store.ts';
import { cannotMount, mountTmpfs, TestHome, until } from '../support/store/store-faults.ts';

const KEY = 'agent:main:main';
const MiB = 1024 * 1024;
const user = { type: 'message', message: { role: 'user', content: 'x' } };
const side = { type: 'custom', customType: 'reprise.note', data: {} };

const failureOf = (work: Promise<unknown>): Promise<RepriseError> =>
  work.then(
    () => Promise.reject(new Error('expected a refusal')),
    (error: RepriseError) => error,
  );

/** What begins something new, each with its own session or message. */
const beginnings = (store: Store, id: string): readonly Promise<unknown>[] => [
  store.create({ key: KEY }),
  store.append(id, [user]),
  store.append(id, [{ type: 'custom', customType: 'reprise.leaf', parentId: null }]),
  store.inbox.receive({ sessionKey: KEY, source: 'test', body: { n: Math.random() } }),
  store.lease(id, { waitMs: 0 }),
];

async function refusesBeginnings(store: Store, id: string): Promise<void> {
  const before = await store.get(id);
  for (const work of beginnings(store, id)) {
    expect(await failureOf(work)).toMatchObject({
      code: 'STORE_FULL',
      outcome: 'none',
      why: { code: 'store.noSpace' },
      details: {
        freeBytes: expect.any(Number),
        minFreeBytes: expect.any(Number),
        next: expect.stringMatching(/^Free [\d.,]+ [MT]B on the disk of \//),
      },
    });
  }
  expect(await store.get(id)).toEqual(before);
}

describe.each(['jsonl', 'sqlite'] as const)('%s: a disk below its floor', (kind) => {
  const home = (): string => {
    const path = mkdtempSync(join(tmpdir(), 'reprise-floor-'));
    onTestFinished(() => rmSync(path, { recursive: true, force: true }));
    return path;
  };

  test('refuses what begins, answers what it knows, and lets the rest end', async () => {
    const options = { kind, home: home(), durability: 'os' } as const;
    const keyed = { key: 'k' };
    const inbound = { sessionKey: KEY, source: 'test', idempotencyKey: 'm', body: {} };
    await using roomy = await openStore({ ...options, minFreeBytes: 0 });
    const { id } = await roomy.create({ key: KEY });
    await roomy.activate(KEY, id);
    const receipt = await roomy.append(id, [user], keyed);
    const { inboxId } = await roomy.inbox.receive(inbound);
    const { id: spare } = await roomy.create({ key: 'agent:main:spare' });
    const lease = await roomy.lease(spare);
    const { epoch } = lease;

    await using full = await openStore({ ...options, minFreeBytes: Number.MAX_SAFE_INTEGER });
    await refusesBeginnings(full, id);
    // A retry of what has happened gets its answer: a full disk is no reason to forget.
    expect(await full.append(id, [user], keyed)).toEqual(receipt);
    expect(await full.inbox.receive(inbound)).toMatchObject({ inboxId, fresh: false });
    expect(await full.create({ id, key: KEY })).toMatchObject({ id });
    // A turn that runs may end.
    const result = { sessionKey: KEY, sessionId: id, source: 'test', idempotencyKey: 'r1', body: {} };
    await full.append(spare, [user], { epoch, deliver: [result] });
    expect(await full.inbox.pending(id)).toHaveLength(2);
    await full.append(id, [side]);
    await full.inbox.settle(inboxId, 'done');
    await full.patch(id, { title: 'still' });
    expect((await full.read(id)).entries.length).toBeGreaterThan(2);
    expect(await lease.release()).toBeNull();
    await full.delete(id);
    await full.restore(id);
    await full.delete(id);
    await full.purge(id);
    expect((await full.stats()).disk).toMatchObject({ minFreeBytes: Number.MAX_SAFE_INTEGER });
  });

  test('a floor that is no number of bytes is refused', async () => {
    for (const minFreeBytes of [-1, Number.NaN]) {
      expect(await failureOf(openStore({ kind, home: home(), minFreeBytes }))).toMatchObject({
        code: 'INVALID_INPUT',
      });
    }
  });
});

const noMount = cannotMount();
describe.skipIf(noMount !== undefined)(`small disks${noMount ? ` (skipped: ${noMount})` : ''}`, () => {
  test.each(['jsonl', 'sqlite'] as const)(
    '%s: space that goes is noticed within seconds, space that comes back at once',
    async (kind) => {
      using at = new TestHome();
      using _disk = mountTmpfs(at.home, '32m');
      await using store = await openStore({ kind, home: at.home, minFreeBytes: 16 * MiB });
      const { id } = await store.create({ key: KEY });
      await store.append(id, [user]);
      const ballast = join(at.home, 'ballast');
      writeFileSync(ballast, Buffer.alloc(20 * MiB));
      await until('the floor to be noticed', () =>
        store.append(id, [user]).then(
          () => false,
          () => true,
        ),
      );
      await refusesBeginnings(store, id);
      await store.append(id, [side]);
      expect((await store.stats()).disk?.freeBytes).toBeLessThan(16 * MiB);
      rmSync(ballast);
      await store.append(id, [user]);
      await (await store.lease(id, { waitMs: 0 })).release();
    },
  );

  test('unset, the floor of a small disk is a hundredth of it', async () => {
    using at = new TestHome();
    using _disk = mountTmpfs(at.home, '20m');
    await using store = await openStore({ kind: 'jsonl', home: at.home });
    expect((await store.stats()).disk).toMatchObject({ minFreeBytes: Math.floor((20 * MiB) / 100) });
    const { id } = await store.create({ key: KEY });
    await store.append(id, [user]);
  });
});

test('unset, the floor of a disk is 64 MiB or a hundredth of it, and a store in memory has none', async () => {
  using at = new TestHome();
  await using store = await openStore({ kind: 'jsonl', home: at.home });
  const { blocks, bsize } = statfsSync(at.home);
  const minFreeBytes = Math.min(64 * MiB, Math.floor((blocks * bsize) / 100));
  expect((await store.stats()).disk).toMatchObject({ minFreeBytes });
  await using memory = await openStore({ kind: 'memory' });
  expect(await memory.stats()).not.toHaveProperty('disk');
});
