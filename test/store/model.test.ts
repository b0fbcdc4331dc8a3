import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openStore, type StoreKind } from '../../src/config/open.ts';
import { entryIdForSeq } from '../../src/exports/transcript.ts';
import { type Entry, RepriseError } from '../../src/index.ts';
import type { Lease, NewEntry, Store } from '../../src/store/port/store.ts';
import type { StoreUnderTest } from '../../testing/index.ts';
import { openPlain } from '../support/plain-store/plain-store.ts';

/**
 * Random sequences of operations on a store and on the simplest thing that keeps the same promises. Whatever the
 * model answers, the store must answer: the same seqs, the same refusals, and in the end the same history.
 */
const id = fc.constantFrom('s1', 's2');
const entry: fc.Arbitrary<NewEntry> = fc.oneof(
  fc.string({ maxLength: 8 }).map((content) => ({ type: 'message', message: { role: 'user', content } })),
  fc.constantFrom<NewEntry>(
    { type: 'message', message: { role: 'assistant', content: [{ type: 'text', text: 'ok' }] } },
    { type: 'label', targetId: entryIdForSeq(2), label: 'x' },
    { type: 'custom', customType: 'extension' },
    {
      type: 'message',
      message: { role: 'toolResult', content: [{ type: 'text', text: '字'.repeat(30_000) }] },
    },
    { type: 'custom', customType: 'reprise.settings', data: { queueMode: 'steer', gone: null } },
    { type: 'compaction', summary: 's', firstKeptEntryId: entryIdForSeq(3), tokensBefore: 1 },
    { type: 'custom', customType: 'reprise.leaf', parentId: entryIdForSeq(2) },
    { type: 'custom', customType: 'reprise.leaf', parentId: null },
    { type: 'custom', customType: 'reprise.leaf', parentId: 'nowhere' },
  ),
);
const operation = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('create' as const),
      id,
      key: fc.constantFrom('agent:main:main', 'agent:a:main'),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constant('append' as const),
      id,
      entries: fc.array(entry, { minLength: 1, maxLength: 3 }),
      key: fc.option(fc.constantFrom('k1', 'k2', 'k3'), { nil: undefined }),
      epoch: fc.constantFrom('none' as const, 'none' as const, 'held' as const, 'stale' as const),
      leaf: fc.constantFrom('any' as const, 'any' as const, 'right' as const, 'wrong' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ op: fc.constantFrom('lease' as const, 'release' as const), id }) },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constantFrom('delete' as const, 'restore' as const, 'reopen' as const),
      id,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('patch' as const),
      id,
      settings: fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom(1, null)),
    }),
  },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7);

class Player {
  #under: StoreUnderTest;
  #store: Store;
  readonly #leases = new Map<string, Lease>();

  constructor(under: StoreUnderTest) {
    this.#under = under;
    this.#store = under.store;
  }

  /** What happened, in words that do not depend on who did it. */
  async play(operation: Operation): Promise<unknown> {
    try {
      return await this.#do(operation);
    } catch (error) {
      if (error instanceof RepriseError) return `${error.code}, outcome ${error.outcome}`;
      throw error;
    }
  }

  async #do(operation: Operation): Promise<unknown> {
    const store = this.#store;
    switch (operation.op) {
      case 'create':
        return summary(await store.create(operation));
      case 'append': {
        const { id, entries, key, epoch, leaf } = operation;
        const held = this.#leases.get(id)?.epoch;
        const current = leaf === 'any' ? undefined : (await store.get(id)).leaf;
        return store.append(id, entries, {
          ...(key !== undefined && { key }),
          ...(epoch === 'held' && held !== undefined && { epoch: held }),
          ...(epoch === 'stale' && { epoch: 999 }),
          ...(current !== undefined && { expectedLeaf: leaf === 'right' ? current : 'elsewhere' }),
        });
      }
      case 'lease': {
        const lease = await store.lease(operation.id, { waitMs: 0 });
        this.#leases.set(operation.id, lease);
        return lease.epoch;
      }
      case 'release':
        await this.#leases.get(operation.id)?.release();
        return this.#leases.delete(operation.id);
      case 'patch':
        return summary(await store.patch(operation.id, operation.settings));
      case 'delete':
      case 'restore':
        return summary(await store[operation.op](operation.id));
      case 'reopen':
        for (const lease of this.#leases.values()) await lease.release();
        this.#leases.clear();
        this.#store = await this.#under.reopen();
        return 'reopened';
    }
  }

  async history(id: string): Promise<unknown> {
    const { entries } = await this.#store.read(id, { from: 2, limit: 1000 });
    return entries.map(({ seq, entry }) => {
      const { timestamp: _, seal, ...rest } = entry as Entry;
      // What a tombstone says besides being one is each store's own.
      const isTombstone = /^reprise\.(deleted|restored)$/.test(String(rest['customType']));
      return { seq, ...rest, ...(isTombstone && { data: undefined }), q: seal?.q, e: seal?.e, b: seal?.b };
    });
  }

  async close(): Promise<void> {
    await this.#store[Symbol.asyncDispose]();
  }
}

function summary(record: Awaited<ReturnType<Store['get']>>): unknown {
  // Times, estimates and titles are each store's own affair.
  const { createdAt: _created, lastAt: _last, tokenEstimate: _tokens, title: _title, ...rest } = record;
  return rest;
}

async function openReal(kind: StoreKind): Promise<{ under: StoreUnderTest; remove: () => void }> {
  const home = mkdtempSync(join(tmpdir(), 'reprise-model-'));
  let store = await openStore({ kind, home });
  const reopen = async (): Promise<Store> => {
    if (kind === 'memory') return store;
    await store[Symbol.asyncDispose]();
    store = await openStore({ kind, home });
    return store;
  };
  return { under: { store, reopen }, remove: () => rmSync(home, { recursive: true, force: true }) };
}

test.each([
  ['memory', 24],
  ['jsonl', 8],
] as const)('the %s store answers every sequence of operations as the model does', async (kind, numRuns) => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 10, maxLength: 40 }), async (operations) => {
      const { under, remove } = await openReal(kind);
      const [model, real] = [new Player(await openPlain()), new Player(under)];
      try {
        for (const [step, operation] of operations.entries()) {
          expect(await real.play(operation), `step ${step}: ${JSON.stringify(operation)}`).toEqual(
            await model.play(operation),
          );
        }
        for (const id of ['s1', 's2']) {
          const [ours, theirs] = [
            await real.history(id).catch(String),
            await model.history(id).catch(String),
          ];
          expect(typeof ours === 'string' ? 'none' : ours).toEqual(
            typeof theirs === 'string' ? 'none' : theirs,
          );
        }
      } finally {
        await Promise.all([model.close(), real.close()]);
        remove();
      }
    }),
    // Every try opens a store; shrinking would take minutes and the sequence is short enough to read.
    { numRuns, seed: SEED, endOnFailure: true },
  );
});
