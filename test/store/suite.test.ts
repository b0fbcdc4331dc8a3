import { AssertionError } from 'node:assert';
import { afterAll, describe, expect, test } from 'vitest';
import { RepriseError } from '../../src/index.ts';
import { runStoreCase, storeCases } from '../../testing/store-suite/index.ts';
import { brokenInboxes } from '../support/broken-stores/broken-inboxes.ts';
import { brokenLists } from '../support/broken-stores/broken-lists.ts';
import { brokenLives } from '../support/broken-stores/broken-lives.ts';
import { brokenLogs } from '../support/broken-stores/broken-logs.ts';
import { brokenNoteStores } from '../support/broken-stores/broken-notes.ts';
import { brokenReads } from '../support/broken-stores/broken-reads.ts';
import { brokenSearches } from '../support/broken-stores/broken-searches.ts';
import { brokenSources } from '../support/broken-stores/broken-sources.ts';
import { brokenTransfers } from '../support/broken-stores/broken-transfers.ts';
import { brokenTurns } from '../support/broken-stores/broken-turns.ts';
import { brokenWrites } from '../support/broken-stores/broken-writes.ts';
import { openPlain } from '../support/plain-store/plain-store.ts';

describe('a store that keeps every promise passes', () => {
  for (const storeCase of storeCases) test(storeCase.name, () => runStoreCase(storeCase, () => openPlain()));
});

describe('a store that breaks a promise is caught', () => {
  const all = [
    ...brokenWrites,
    ...brokenReads,
    ...brokenLives,
    ...brokenLogs,
    ...brokenInboxes,
    ...brokenTransfers,
    ...brokenSearches,
    ...brokenLists,
    ...brokenNoteStores,
    ...brokenSources,
    ...brokenTurns,
  ];
  let caught = 0;

  // Side by side and with less patience: some are caught only by an answer that does not come.
  test.concurrent.each(all)('$name', async ({ caughtBy, open }) => {
    const storeCase = storeCases.find(({ name }) => name === caughtBy);
    if (storeCase === undefined) throw new Error(`no case is called ${caughtBy}`);
    const error = await runStoreCase(storeCase, open, { patienceMs: 10_000 }).catch(
      (reason: unknown) => reason,
    );
    // Noticed, not merely crashed: a slip in the broken store itself would be another error.
    expect(error).toSatisfy((reason) => reason instanceof AssertionError || reason instanceof RepriseError);
    caught++;
  });

  afterAll(() => console.log(`${caught} of ${all.length} broken stores caught`));
});

describe('the suite itself', () => {
  test('has no two cases of one name', () => {
    expect(new Set(storeCases.map(({ name }) => name)).size).toBe(storeCases.length);
  });

  test('is not passed by a store that is closed from the start, whatever the case asks', async () => {
    for (const storeCase of storeCases) {
      const work = runStoreCase(storeCase, async () => {
        const opened = await openPlain();
        await opened.store[Symbol.asyncDispose]();
        return opened;
      });
      // The only case that asks the store to do nothing.
      if (storeCase.name === 'a store declares what it supports') await work;
      else await expect(work, storeCase.name).rejects.toThrow();
    }
  });
});
