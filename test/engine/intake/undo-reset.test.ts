import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Session, Store } from '../../../src/index.ts';
import { openJsonlStore } from '../../../src/store/jsonl/open.ts';
import { KEY, type Opened, openEngine, scripted } from '../../support/engine/engine.ts';

/** What a reset leaves behind: the new session has its parent and its reason, the old one knows the new. */
async function reset(store: Store, oldId: string, reason = 'daily'): Promise<string> {
  const { id } = await store.create({ key: KEY, parentId: oldId });
  await store.activate(KEY, id, { reason });
  await store.append(oldId, [{ type: 'custom', customType: 'reprise.reset', data: { next: id, reason } }]);
  return id;
}

async function afterReset(at: Opened<ReturnType<typeof scripted>>): Promise<Session> {
  return at.reprise.session({ id: await reset(at.reprise.store, at.session.id) });
}

const activeId = async (store: Store): Promise<string | undefined> => (await store.active(KEY))?.id;

describe('S8 the undo of a reset', () => {
  test('returns to the old session with all its data, and redo to the new one', async () => {
    await using at = await openEngine(scripted(['one', 'two', 'three']));
    const { store } = at.reprise;
    await at.session.send('a').result;
    const next = await afterReset(at);
    expect(await next.undo()).toEqual({ undone: 'reset', sessionId: at.session.id });
    expect(await activeId(store)).toBe(at.session.id);
    const old = await at.reprise.session(KEY);
    await old.send('b').result;
    expect(JSON.stringify(at.model.requests.at(-1)?.messages)).toContain('"a"');

    const again = await afterReset(at);
    expect(await again.undo()).toMatchObject({ undone: 'reset' });
    expect(await at.session.redo()).toEqual({ undone: 'reset', sessionId: again.id });
    expect(await activeId(store)).toBe(again.id);
    await (await at.reprise.session(KEY)).send('c').result;
    expect(JSON.stringify(at.model.requests.at(-1)?.messages)).not.toContain('"a"');
  });

  test('comes only when the session has no step left to undo', async () => {
    await using at = await openEngine(scripted(['one', 'two']));
    await at.session.send('a').result;
    const next = await afterReset(at);
    await next.send('b').result;
    expect(await next.undo()).toEqual({ undone: 'turn' });
    expect(await next.undo()).toMatchObject({ undone: 'reset' });
    expect(await at.session.redo()).toMatchObject({ undone: 'reset', sessionId: next.id });
    expect(await next.redo()).toEqual({ undone: 'turn' });
    expect((await next.context()).messages).toBe(2);
  });

  test('the latest step is redone first, and nothing after a new message', async () => {
    await using at = await openEngine(scripted(['one', 'two', 'three']));
    await at.session.send('a').result;
    const next = await afterReset(at);
    await next.undo();
    expect(await at.session.undo()).toEqual({ undone: 'turn' });
    expect(await at.session.redo()).toEqual({ undone: 'turn' });
    expect(await at.session.redo()).toMatchObject({ undone: 'reset' });
    await next.undo();
    await at.session.send('b').result;
    expect(await at.session.redo()).toEqual({ undone: null });
    expect(await activeId(at.reprise.store)).toBe(at.session.id);
  });

  test('undoes reset by reset', async () => {
    await using at = await openEngine(scripted(['one']));
    const { store } = at.reprise;
    const second = await reset(store, at.session.id, '/new');
    const third = await reset(store, second, 'idle');
    const undo = async (id: string): Promise<unknown> => (await at.reprise.session({ id })).undo();
    expect(await undo(third)).toEqual({ undone: 'reset', sessionId: second });
    expect(await undo(second)).toEqual({ undone: 'reset', sessionId: at.session.id });
    expect(await undo(at.session.id)).toEqual({ undone: null });
    const redo = async (id: string): Promise<unknown> => (await at.reprise.session({ id })).redo();
    expect(await redo(at.session.id)).toEqual({ undone: 'reset', sessionId: second });
    expect(await redo(second)).toEqual({ undone: 'reset', sessionId: third });
    expect(await redo(third)).toEqual({ undone: null });
  });

  test('a session that was chosen by hand is not undone', async () => {
    await using at = await openEngine(scripted([]));
    const { store } = at.reprise;
    const next = await afterReset(at);
    await next.undo();
    await at.session.redo();
    await store.activate(KEY, at.session.id);
    expect(await at.session.redo()).toEqual({ undone: null });
    const { id } = await store.create({ key: KEY, parentId: at.session.id });
    await store.activate(KEY, id);
    expect(await (await at.reprise.session(KEY)).undo()).toEqual({ undone: null });
    expect(await activeId(store)).toBe(id);
  });

  test('is not for a session that is no longer active, a fork, or one whose old session was purged', async () => {
    await using at = await openEngine(scripted(['one', 'two']));
    const { store } = at.reprise;
    await at.session.send('a').result;
    const next = await afterReset(at);
    await reset(store, next.id);
    expect(await next.undo()).toEqual({ undone: null });
    expect(await at.session.redo()).toEqual({ undone: null });

    const fork = await at.reprise.session({ id: (await at.session.fork()).id });
    expect(await fork.undo()).toEqual({ undone: 'turn' });
    expect(await fork.undo()).toEqual({ undone: null });

    const last = await activeId(store);
    await store.delete(next.id);
    const session = await at.reprise.session({ id: last ?? '' });
    await expect(session.undo()).rejects.toMatchObject({ code: 'SESSION_DELETED' });
    await store.purge(next.id);
    expect(await session.undo()).toEqual({ undone: null });
    expect(await activeId(store)).toBe(last);
  });

  test('an old session whose transcript cannot be read does not prevent the undo of a turn in the new one', async () => {
    const home = await mkdtemp(join(tmpdir(), 'reprise-unread-'));
    onTestFinished(() => rm(home, { recursive: true }));
    await using at = await openEngine(scripted(['one', 'two']), { store: await openJsonlStore({ home }) });
    await at.session.send('a').result;
    const next = await afterReset(at);
    await next.send('b').result;
    const file = join(home, 'agents', 'main', 'sessions', `${at.session.id}.jsonl`);
    await rm(file);
    await mkdir(file);
    await expect(at.session.history()).rejects.toMatchObject({ code: 'STORE_FAILED' });
    expect(await next.undo({ idempotencyKey: 'k1' })).toEqual({ undone: 'turn' });
    expect(await next.undo({ idempotencyKey: 'k1' })).toEqual({ undone: 'turn' });
    expect((await next.context()).messages).toBe(0);
  });
});
