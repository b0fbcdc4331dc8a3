import { mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadDocument } from '../../src/interop/session-document.ts';
import { exportParts } from '../../src/store/copy/export-parts.ts';
import { openJsonlStore } from '../../src/store/jsonl/open.ts';
import type { Store } from '../../src/store/port/store.ts';
import { until } from '../support/store/store-faults.ts';

const MESSAGES = 6;

/** A transcript of several parts in a store that was opened when it was whole; the store does not notice `harm`. */
async function harmed(harm: (file: string) => Promise<void>): Promise<Store> {
  const home = await mkdtemp(join(tmpdir(), 'reprise-export-'));
  {
    await using store = await openJsonlStore({ home });
    await store.create({ id: 's', key: 'agent:main:session:s' });
    for (let i = 0; i < MESSAGES; i++)
      await store.append('s', [
        { type: 'message', message: { role: 'user', content: `said ${i} ${'.'.repeat(900_000)}` } },
      ]);
  }
  const store = await openJsonlStore({ home });
  await until('the index to be complete', async () => (await store.verify('s')).status === 'clean');
  await harm(join(home, 'agents', 'main', 'sessions', 's.jsonl'));
  onTestFinished(async () => {
    await store[Symbol.asyncDispose]();
    await rm(home, { recursive: true });
  });
  return store;
}

async function flipBit(file: string): Promise<void> {
  const bytes = await readFile(file);
  const at = bytes.indexOf('said 4');
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(file, bytes);
}

async function bytesIn(parts: AsyncIterable<Uint8Array>): Promise<number> {
  let sum = 0;
  for await (const part of parts) sum += part.length;
  return sum;
}

test('a session that is damaged in a later part is read with all that still verifies', async () => {
  const store = await harmed(flipBit);
  const { entries, corruptAt } = await loadDocument(store, await store.get('s'));
  expect(entries).toHaveLength(MESSAGES - 1);
  expect(corruptAt).toBeGreaterThan(0);
});

test.each<[string, (file: string) => Promise<void>]>([
  ['damaged in a later part', flipBit],
  ['cut behind its first part', (file) => truncate(file, 2_000_000)],
  ['removed', (file) => rm(file)],
])('parts of a transcript that was %s never end as if they were all', async (_what, harm) => {
  const store = await harmed(harm);
  await expect(bytesIn(exportParts(store, { id: 's', lastSeq: MESSAGES + 1 }))).rejects.toMatchObject({
    code: 'STORE_CORRUPT',
    details: { next: expect.any(String) },
  });
});

test('a session that became shorter while it was exported breaks off', async () => {
  const store = await harmed(async () => undefined);
  const parts = exportParts(store, { id: 's', lastSeq: MESSAGES + 10 });
  await expect(bytesIn(parts)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
});
