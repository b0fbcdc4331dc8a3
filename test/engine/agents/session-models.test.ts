import { expect, test } from 'vitest';
import type { TurnEvent } from '../../../src/engine/events.ts';
import { Reprise, type RepriseOptions } from '../../../src/engine/reprise.ts';
import type { Model, Session, Store } from '../../../src/index.ts';
import { modelError } from '../../../src/models/model-error.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { entriesOf, KEY, scripted } from '../../support/engine/engine.ts';

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

test('a query before the next message uses the model that the session names', async () => {
  const store = await named();
  const fresh = (): Promise<Session> => opened(store).session(KEY);
  await (await fresh()).send('hello').result;
  expect((await (await fresh()).context()).window).toMatchObject({ tokens: 32_000 });
  expect(await (await fresh()).explain()).toMatchObject({ calls: [{ verified: true }] });
});

test('a child may have a model by its name before any session has used it', async () => {
  const reprise = opened(await named());
  const { id } = await reprise.session(KEY);
  expect(await reprise.spawn({ id }, { task: 'a.', model: NAMED })).toMatchObject({ modelApplied: true });
  expect(await reprise.spawn({ id }, { task: 'b.', model: 'no:such' })).toMatchObject({
    modelApplied: false,
  });
  await reprise.idle();
});

test('a turn whose model never loads can be stopped: the message is kept, and the next one runs', async () => {
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

/** The types of the events up to the answer, and the notice among them. */
async function heard(session: Session): Promise<{ types: string[]; notice: unknown; text: string }> {
  const turn = session.send('hello');
  const events: TurnEvent[] = [];
  for await (const event of turn) events.push(event);
  const types = events
    .map(({ type }) => type)
    .filter((type) => /^(?:turn_start|model_fallback|done)$/.test(type));
  return {
    types,
    notice: events.find(({ type }) => type === 'model_fallback'),
    text: (await turn.result).text,
  };
}

test('a turn reports which model of its session cannot be used, why, and which one answers instead', async () => {
  const store = await openMemoryStore({});
  // As other systems name it.
  const settings = { providerOverride: 'mock', modelOverride: 'mock-1' };
  await store.create({ key: KEY, activate: true, settings });
  const session = await opened(store).session(KEY);
  expect(await heard(session)).toEqual({
    types: ['turn_start', 'model_fallback', 'done'],
    notice: {
      type: 'model_fallback',
      wanted: 'mock:mock-1',
      model: 'scripted',
      reason: 'no model mock:mock-1',
      why: { code: 'failed', params: { code: 'MODEL_FAILED', text: 'no model mock:mock-1', next: null } },
    },
    text: 'by the default',
  });
});

test('a model that its provider no longer knows falls back within the turn, and is tried again by the next', async () => {
  const reprise = opened(await named(), {
    model: scripted(['by the default', 'by the default']),
    loadModel: async () => undefined,
    modelByName: () => retired,
  });
  const gone = modelError(
    { status: 404, codes: ['not_found_error'], message: 'model: small' },
    { provider: 'test', id: 'small' },
    0,
  );
  const retired = scripted([gone, gone, 'I am back']);
  const session = await reprise.session(KEY);
  for (const _ of [1, 2])
    expect(await heard(session)).toMatchObject({
      types: ['turn_start', 'model_fallback', 'done'],
      notice: { wanted: NAMED, model: 'scripted', reason: expect.stringContaining('model: small') },
      text: 'by the default',
    });
  expect(await heard(session)).toMatchObject({ types: ['turn_start', 'done'], text: 'I am back' });
});

test('the model of the configuration has no other to fall back to: its refusal is the error', async () => {
  const gone = modelError(
    { status: 404, codes: ['not_found_error'], message: 'model: scripted' },
    { provider: 'scripted', id: 'scripted' },
    0,
  );
  const store = await openMemoryStore({});
  const reprise = opened(store, { model: scripted([gone]) });
  await expect((await reprise.session(KEY)).send('hello').result).rejects.toMatchObject({
    code: 'MODEL_UNKNOWN',
  });
});

test('the model of this run wins over a stored one, until the session is given another during the run', async () => {
  const override = scripted(['by this run', 'by this run']);
  const reprise = opened(await named(), { modelOverride: () => override });
  const session = await reprise.session(KEY);
  expect((await session.send('hello').result).text).toBe('by this run');
  await session.patch({ model: NAMED });
  expect((await session.send('hello').result).text).toBe('one');
  expect(await session.model()).toMatchObject({ name: NAMED, from: 'session' });
  await session.patch({ model: null });
  expect((await session.send('hello').result).text).toBe('by this run');
});
