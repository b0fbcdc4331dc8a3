import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, test } from 'vitest';
import { openStore, type StoreKind } from '../../src/config/open.ts';
import { runStoreCase, type StoreUnderTest, storeCases } from '../../src/testing/store-suite/index.ts';

const homes: string[] = [];
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

async function open(kind: StoreKind): Promise<StoreUnderTest> {
  const home = mkdtempSync(join(tmpdir(), `reprise-${kind}-`));
  homes.push(home);
  let store = await openStore({ kind, home });
  return {
    get store() {
      return store;
    },
    async reopen() {
      if (kind === 'memory') return store;
      await store[Symbol.asyncDispose]();
      store = await openStore({ kind, home });
      return store;
    },
  };
}

describe.each(['memory', 'sqlite', 'jsonl'] as const)('the %s store', (kind) => {
  for (const storeCase of storeCases) test(storeCase.name, () => runStoreCase(storeCase, () => open(kind)));
});
