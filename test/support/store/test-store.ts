import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, test } from 'vitest';
import { openStore, type StoreKind } from '../../../src/config/open.ts';
import { runStoreCase, type StoreUnderTest, storeCases } from '../../../testing/store-suite/index.ts';

const homes: string[] = [];

async function open(kind: StoreKind): Promise<StoreUnderTest> {
  const home = mkdtempSync(join(tmpdir(), `reprise-${kind}-`));
  homes.push(home);
  // What survives a power cut is tested by the crash suite; these tests need not wait for a disk.
  const options = { kind, home, durability: 'os' } as const;
  let store = await openStore(options);
  return {
    get store() {
      return store;
    },
    async reopen() {
      if (kind === 'memory') return store;
      await store[Symbol.asyncDispose]();
      store = await openStore(options);
      return store;
    },
  };
}

/** The whole suite on one of our stores. A file for each, so that they run side by side. */
export function testStore(kind: StoreKind): void {
  afterAll(() => {
    for (const home of homes) rmSync(home, { recursive: true, force: true });
  });
  for (const storeCase of storeCases) test(storeCase.name, () => runStoreCase(storeCase, () => open(kind)));
}
