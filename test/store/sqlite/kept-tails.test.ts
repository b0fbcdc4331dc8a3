import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStore } from '../../../src/config/open.ts';
import { entryIdForSeq } from '../../../src/exports/transcript.ts';
import type { Entry } from '../../../src/index.ts';
import type { EntryPage, NewEntry, Store } from '../../../src/store/port/store.ts';
import { contentText } from '../../../src/transcript/content.ts';

const say = (content: string): NewEntry => ({ type: 'message', message: { role: 'user', content } });
const KINDS = ['jsonl', 'sqlite', 'memory'] as const;

function textsOf({ entries }: EntryPage): string[] {
  return entries.map(({ entry }) =>
    contentText(((entry as Entry)['message'] as { content: unknown }).content),
  );
}

async function withStore(
  kind: (typeof KINDS)[number],
  work: (store: Store, home: string) => Promise<void>,
): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'reprise-kept-'));
  try {
    await using store = await openStore(kind === 'memory' ? { kind } : { kind, home, durability: 'os' });
    await store.create({ id: 's1', key: 'agent:main:main' });
    await work(store, home);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

test.each(KINDS)('with the %s store cached entries of a session in use are not sent again', async (kind) => {
  await withStore(kind, async (store) => {
    await store.append('s1', [say('one'), say('two')]);
    const before = await store.tail('s1');
    await store.append('s1', [say('three')]);
    const after = await store.tail('s1');
    expect(textsOf(after)).toEqual(['one', 'two', 'three']);
    // The very objects: nothing crossed the thread a second time.
    for (const [at, { entry }] of before.entries.entries()) expect(after.entries[at]?.entry).toBe(entry);
  });
});

test.each(KINDS)('with the %s store no reader can change what the next reader gets', async (kind) => {
  await withStore(kind, async (store) => {
    await store.append('s1', [say('one')]);
    const { entries } = await store.tail('s1');
    for (const stored of entries as readonly { entry: Entry }[]) {
      expect(Reflect.set(stored.entry['message'] as object, 'content', 'another')).toBe(false);
      expect(Reflect.set(stored, 'entry', {})).toBe(false);
    }
    (entries as unknown[]).length = 0;
    expect(textsOf(await store.tail('s1'))).toEqual(['one']);
  });
});

test.each(['jsonl', 'sqlite'] as const)(
  'with the %s store tails that are asked for while others append are each the tail of one moment',
  async (kind) => {
    await withStore(kind, async (store, home) => {
      await using cold = await openStore({ kind, home, durability: 'os', sessionCacheTtlMs: 0 });
      const looks: Promise<number[]>[] = [];
      const look = async (): Promise<number[]> => {
        const { entries, lastSeq } = await store.tail('s1');
        const seqs = entries.map(({ seq }) => seq);
        expect(seqs.at(-1)).toBe(lastSeq);
        return seqs;
      };
      await store.append('s1', [say('first')]);
      for (let i = 0; i < 40; i++) {
        const by = i % 3 === 0 ? cold : store;
        looks.push(look(), look());
        const kept = entryIdForSeq(2 + i);
        const summary = { type: 'compaction', summary: 's', firstKeptEntryId: kept, tokensBefore: 1 };
        await by.append('s1', [i % 10 === 9 ? summary : say(`${i}`)]);
        looks.push(look());
      }
      for (const seqs of await Promise.all(looks))
        expect(seqs).toEqual(seqs.map((_, at) => (seqs[0] ?? 0) + at));
      expect(await store.tail('s1')).toEqual(await cold.tail('s1'));
    });
  },
);
