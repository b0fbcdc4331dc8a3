import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { contentText, parseTranscript } from '../../../src/exports/transcript.ts';
import type { Store, StoredEntry } from '../../../src/store/port/store.ts';
import { appendForeign, FOREIGN_KINDS } from '../../support/store/foreign-lines.ts';
import { transcriptPath } from '../../support/store/sealed-home.ts';

const operation = fc.oneof(
  {
    weight: 2,
    // Large ones, so that a few dozen make a file that is not read in one look.
    arbitrary: fc.record({
      op: fc.constant('own' as const),
      lines: fc.integer({ min: 1, max: 3 }),
      size: fc.constantFrom(10, 1000, 70_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('foreign' as const),
      kind: fc.constantFrom(...FOREIGN_KINDS),
      size: fc.constantFrom(10, 1000, 70_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('reopen' as const) }) },
);

/** Long enough to be distinct, short enough to read when they differ. */
const SHOWN = 16;

function texts(stored: readonly StoredEntry[]): string[] {
  return stored.flatMap(({ entry }) => {
    const { message } = entry as { readonly message?: { readonly content?: unknown } };
    return message === undefined ? [] : [contentText(message.content).slice(0, SHOWN)];
  });
}

async function readBy(
  store: Store,
  limit: number,
  direction: 'forward' | 'backward',
): Promise<StoredEntry[]> {
  const all: StoredEntry[] = [];
  for (let from: number | undefined, more = true; more; ) {
    const page = await store.read('s1', { limit, direction, ...(from !== undefined && { from }) });
    all.push(...page.entries);
    more = page.hasMore;
    from = (page.entries.at(-1)?.seq ?? 0) + (direction === 'forward' ? 1 : -1);
  }
  return all;
}

test('a file that other tools append to is read whole, once and in the same order, by pages of any size', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 10, maxLength: 40 }), async (operations) => {
      const home = mkdtempSync(join(tmpdir(), 'reprise-foreign-'));
      let store = await openStore({ home, durability: 'os' });
      const own: string[] = [];
      const foreign: string[] = [];
      try {
        await store.create({ id: 's1', key: 'agent:main:main' });
        await store.append('s1', [{ type: 'message', message: { role: 'user', content: 'first' } }]);
        own.push('first');
        await store[Symbol.asyncDispose]();
        store = await openStore({ home, durability: 'os' });
        for (const [i, operation] of operations.entries()) {
          if (operation.op === 'own') {
            const said = Array.from(
              { length: operation.lines },
              (_, n) => `own ${i}.${n} ${'o'.repeat(operation.size)}`,
            );
            await store.append(
              's1',
              said.map((content) => ({ type: 'message', message: { role: 'user', content } })),
            );
            own.push(...said.map((text) => text.slice(0, SHOWN)));
          } else if (operation.op === 'foreign') {
            const { leaf } = await store.get('s1');
            const said = appendForeign(transcriptPath(home, 's1'), operation.kind, leaf, operation.size);
            foreign.push(...said.map((text) => text.slice(0, SHOWN)));
          } else {
            await store[Symbol.asyncDispose]();
            store = await openStore({ home, durability: 'os' });
          }
        }
        // Another line from us makes the store look at the file; closing and opening makes it settle everything.
        await store.append('s1', [{ type: 'message', message: { role: 'user', content: 'last' } }]);
        own.push('last');
        await store[Symbol.asyncDispose]();
        store = await openStore({ home, durability: 'os' });

        const all = await readBy(store, 10_000, 'forward');
        const said = texts(all);
        expect(said.filter((text) => own.includes(text))).toEqual(own);
        expect(said.filter((text) => foreign.includes(text))).toEqual(foreign);
        expect(said).toHaveLength(own.length + foreign.length);
        expect(all.map(({ seq }) => seq)).toEqual(all.map((_, i) => i + 1));
        for (const limit of [1, 7]) {
          expect(await readBy(store, limit, 'forward')).toEqual(all);
          expect((await readBy(store, limit, 'backward')).reverse()).toEqual(all);
        }
        expect((await store.tail('s1')).entries).toEqual(all.slice(1));
        // Newest first by what the lines say, and others' lines say what they like.
        const { hits } = await store.search({ text: 'o', limit: 1000, budgetMs: 600_000 });
        expect(hits.map(({ seq }) => seq).sort((a, b) => b - a)).toEqual(
          all
            .filter((one) => texts([one])[0]?.includes('o'))
            .map(({ seq }) => seq)
            .reverse(),
        );
        // A line with two records has one number, and is two entries to a reader of the file.
        const several = operations.filter((one) => one.op === 'foreign' && one.kind === 'several').length;
        expect(parseTranscript(await store.exportSession('s1')).entries).toHaveLength(
          all.length - 1 + several,
        );
        expect((await store.verify('s1')).findings.filter(({ kind }) => kind !== 'unknown-record')).toEqual(
          [],
        );

        await store[Symbol.asyncDispose]();
        rmSync(join(home, 'control.db'));
        store = await openStore({ home, durability: 'os' });
        expect(texts(await readBy(store, 7, 'backward')).sort()).toEqual(said.sort());
      } finally {
        await store[Symbol.asyncDispose]();
        rmSync(home, { recursive: true, force: true });
      }
    }),
    { numRuns: 3, seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7), endOnFailure: true },
  );
}, 300_000);
