import { expect, test } from 'vitest';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import type { Store } from '../../../src/store/port/store.ts';
import { run } from '../../support/engine/commands.ts';
import { openEngine, say, scripted } from '../../support/engine/engine.ts';
import { ask, call, openFamily, replying } from '../../support/engine/family.ts';

const GOING = 'agent:main:session:going';
const STAYING = 'agent:main:session:staying';

/** A store in which another process purges a session while a search result still names it. */
async function openPurging(): Promise<Store> {
  const store = await openMemoryStore({});
  const search: Store['search'] = async (query) => {
    const found = await Object.getPrototypeOf(store).search.call(store, query);
    const gone = await store.active(GOING);
    if (gone !== undefined) {
      await store.delete(gone.id);
      await store.purge(gone.id);
    }
    return found;
  };
  return Object.assign(store, { search });
}

test('/search shows the remaining hits when a session is purged meanwhile', async () => {
  await using at = await openEngine(scripted(['One.', 'Two.']), { store: await openPurging() });
  for (const key of [GOING, STAYING]) await say(await at.reprise.session(key), 'where is the needle');
  const { text, code } = await run(at, '/search needle');
  expect(code).toBeUndefined();
  expect(text.match(/where is the needle \(/g)).toHaveLength(1);
});

test('an agent that searches its sessions gets the remaining hits when one is purged meanwhile', async () => {
  const model = replying(({ text, isResult }) => {
    if (isResult) return text;
    return text === 'look' ? { calls: [call('sessions_search', { query: 'needle' })] } : 'Heard.';
  });
  const agents = { defaults: { sessionTools: { scope: 'agent' } } } as const;
  await using at = await openFamily(model, { store: await openPurging(), agents });
  for (const key of [GOING, STAYING]) await ask(at.reprise, 'where is the needle', key);
  const found = await ask(at.reprise, 'look');
  expect(found).toContain(STAYING);
  expect(found).not.toContain(GOING);
});
