import { expect, test } from 'vitest';
import { Reprise, type RepriseOptions } from '../../src/engine/reprise.ts';
import type { Model, Session, Store } from '../../src/index.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { entriesOf, KEY, scripted } from '../support/engine.ts';

const NAMED = 'test:small';
const never = new Promise<never>(() => undefined);

/** An engine that has not loaded the model yet. */
function opened(store: Store, load: Partial<RepriseOptions> = {}): Reprise {
  const loaded = new Map<string, Model>();
  return new Reprise({
    compaction: { background: false },
    agents: { defaults: { subagents: {} } },
    run: false,
    store,
    model: scripted(['by the default'], 200_000),
    modelByName: (name) => loaded.get(name),
    loadModel: async (name) => {
      if (name !== NAMED) throw new Error(`no model ${name}`);
      loaded.set(name, scripted(['one', 'two'], 32_000));
    },
    ...load,
  });
}

/** A store with a session that names a model. */
async function named(): Promise<Store> {
  const store = await openMemoryStore({});
  await store.create({ key: KEY, activate: true, settings: { model: NAMED } });
  return store;
}

test('what is asked of a session before it speaks again counts by the model it names', async () => {
  const store = await named();
  const fresh = (): Promise<Session> => opened(store).session(KEY);
  await (await fresh()).send('hello').result;
  expect((await (await fresh()).context()).window).toMatchObject({ tokens: 32_000 });
  expect(await (await fresh()).explain()).toMatchObject({ calls: [{ verified: true }] });
});

test('a child may have a model by its name before anybody has used it', async () => {
  const reprise = opened(await named());
  const { id } = await reprise.session(KEY);
  expect(await reprise.spawn({ id }, { task: 'a.', model: NAMED })).toMatchObject({ modelApplied: true });
  expect(await reprise.spawn({ id }, { task: 'b.', model: 'no:such' })).toMatchObject({
    modelApplied: false,
  });
  await reprise.idle();
});

test('a turn whose model is never loaded can be stopped: what was said is kept, and the next one runs', async () => {
  const store = await named();
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const model = scripted(['by the default']);
  const loadModel = (): Promise<never> => {
    resolve();
    return never;
  };
  const reprise = opened(store, { model, loadModel });
  const session = await reprise.session(KEY);
  const turn = session.send('are you there?');
  await asked;
  expect(await session.stop()).toMatchObject({ stopped: true });
  await expect(turn.result).rejects.toMatchObject({ code: 'ABORTED' });
  expect(JSON.stringify(await entriesOf(session))).toContain('are you there?');
  expect(model.requests).toEqual([]);
  await session.patch({ model: null });
  expect((await session.send('and now?').result).text).toBe('by the default');
});

test('a model that cannot be loaded, however it fails, leaves the answer to the default one', async () => {
  for (const loadModel of [
    () => {
      throw new Error('at once');
    },
    async () => {
      throw new Error('later');
    },
  ]) {
    const reprise = opened(await named(), { loadModel });
    const session = await reprise.session(KEY);
    expect((await session.send('hello again').result).text).toBe('by the default');
  }
});
