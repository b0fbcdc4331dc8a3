import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../../../src/engine/commands/run-command.ts';
import { withTicket } from '../../../src/engine/intake/inbound.ts';
import { RepriseError } from '../../../src/errors.ts';
import type { Inbound, InboxReceipt } from '../../../src/exports/store.ts';
import type { Store } from '../../../src/index.ts';
import type { ScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { KEY } from '../../support/engine/engine.ts';
import { call, type Family, openFamily, replying, resultsIn } from '../../support/engine/family.ts';

const never = new Promise<never>(() => undefined);

/** A parent that answers everything; its children never come to an end by themselves. */
function busyChildren(): ScriptedModel {
  return replying(({ text, request }) => {
    const isChild = request.system?.includes('You are a subagent') === true;
    if (text === 'give it away.' || (isChild && text === 'pass it on.'))
      return { calls: [call('sessions_spawn', { task: 'deep.' })] };
    if (isChild) return { wait: never, text: 'never said' };
    return `heard ${text}`;
  });
}

/** Until so many children are at work. */
async function spawned({ reprise, model }: Family, parent: string, tasks: readonly string[]): Promise<void> {
  for (const task of tasks) {
    const before = model.requests.length;
    expect(await reprise.spawn({ id: parent }, { task })).toMatchObject({ status: 'accepted' });
    await expect.poll(() => model.requests.length).toBeGreaterThan(before);
  }
}

test('/stop ends the children of a session too, and none of them starts another turn', async () => {
  await using at = await openFamily(busyChildren());
  const session = await at.reprise.session(KEY);
  await spawned(at, session.id, ['a.', 'b.']);
  const asked = at.model.requests.length;
  const context = { reprise: at.reprise, session, surface: 'repl' } as const;
  expect((await runCommand({ name: 'stop', args: '' }, context)).text).toBe('2 subagents stopped.');
  await at.reprise.idle();
  await expect.poll(() => resultsIn(at.store)).toHaveLength(2);
  expect(at.model.requests).toHaveLength(asked);
  expect(await at.reprise.runs(session.id)).toMatchObject([
    { status: 'cancelled', result: 'told' },
    { status: 'cancelled', result: 'told' },
  ]);
  expect(await at.store.inbox.pending()).toEqual([]);
  // The model learns what became of them with the next message.
  expect((await session.send('and now?').result).text).toContain('and now?');
  const last = JSON.stringify(at.model.requests.at(-1)?.messages);
  expect(last.match(/the task was stopped together with the session that gave it/g)).toHaveLength(2);
  expect((await runCommand({ name: 'stop', args: '' }, context)).text).toBe('Nothing is running.');
});

test('children of children are stopped as well, and a stopped one with cleanup "delete" is deleted', async () => {
  await using at = await openFamily(busyChildren(), {
    agents: { defaults: { subagents: { maxDepth: 2 } } },
  });
  const session = await at.reprise.session(KEY);
  await at.reprise.spawn({ id: session.id }, { task: 'pass it on.', cleanup: 'delete' });
  const deep = async (): Promise<number> =>
    (await at.store.inbox.pending()).filter(({ state }) => state === 'running').length;
  await expect.poll(deep).toBe(2);
  expect(await session.stop({ waiting: true })).toMatchObject({ children: 2 });
  await at.reprise.idle();
  await expect.poll(() => at.store.inbox.pending()).toEqual([]);
  const children = (await at.store.list({ kind: 'subagent', status: 'any' })).sessions;
  expect(children.map(({ title, status }) => [title, status]).sort()).toEqual([
    ['deep.', 'open'],
    ['pass it on.', 'deleted'],
  ]);
});

test('a turn that is stopped alone leaves the children running', async () => {
  await using at = await openFamily(busyChildren());
  const session = await at.reprise.session(KEY);
  await spawned(at, session.id, ['a.']);
  expect(await session.stop()).toEqual({ stopped: false, cancelled: 0, children: 0 });
  expect(await session.stop({ waiting: true, running: false })).toMatchObject({ children: 0 });
  expect(await at.reprise.runs(session.id)).toMatchObject([{ status: 'running', result: 'none' }]);
  expect(await session.stop({ children: true })).toMatchObject({ children: 1 });
});

test('children that run in another process are stopped from here', async () => {
  const home = mkdtempSync(join(tmpdir(), 'reprise-stop-'));
  {
    await using there = await openFamily(busyChildren(), { kind: 'jsonl', home });
    const nobody = replying(() => 'nobody asks me');
    await using here = await openFamily(nobody, { kind: 'jsonl', home, run: false });
    const { id } = await there.reprise.session(KEY);
    await spawned(there, id, ['a.']);
    const session = await here.reprise.session({ id });
    expect(await session.stop({ waiting: true })).toMatchObject({ stopped: false, children: 1 });
    await expect.poll(() => resultsIn(there.store)).toEqual([expect.stringContaining('cancelled')]);
    await there.reprise.idle();
    expect(nobody.requests).toEqual([]);
    expect(await there.reprise.runs(id)).toMatchObject([{ status: 'cancelled', result: 'told' }]);
  }
  rmSync(home, { recursive: true });
});

/** A store where the test decides what becomes of each message that is put. */
async function receiving(
  receive: (inbound: Inbound, put: () => Promise<InboxReceipt>) => Promise<InboxReceipt>,
): Promise<Store> {
  const store = await openMemoryStore({});
  const bound = <T extends object>(target: T, own: Partial<T>): T =>
    new Proxy(target, {
      get: (_, name) => {
        const value: unknown = Reflect.get(own, name) ?? Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  const inbox = bound(store.inbox, {
    receive: (inbound) => receive(inbound, () => store.inbox.receive(inbound)),
  });
  return bound(store, { inbox });
}

test('a child that is being spawned when /stop arrives is stopped too', async () => {
  const [spawning, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const store = await receiving(async ({ group }, put) => {
    if (group === undefined) return put();
    spawning.resolve();
    await stopped.promise;
    return put();
  });
  await using at = await openFamily(busyChildren(), { store });
  const session = await at.reprise.session(KEY);
  const turn = session.send('give it away.');
  await spawning.promise;
  expect(await session.stop({ waiting: true })).toMatchObject({ stopped: true, children: 0 });
  await expect(turn.result).rejects.toMatchObject({ code: 'ABORTED' });
  const asked = at.model.requests.length;
  stopped.resolve();
  await expect.poll(() => at.reprise.runs(session.id)).toMatchObject([{ status: 'cancelled' }]);
  // The model learns of its end with the next message; the end itself starts no turn.
  await session.send('and now?').result;
  expect(at.model.requests).toHaveLength(asked + 1);
  await expect.poll(() => resultsIn(at.store)).toEqual([expect.stringContaining('cancelled')]);
});

test('children whose end cannot be reported are stopped all the same, each of them', async () => {
  const store = await receiving(async ({ body }, put) => {
    if (body['silent'] === true) throw new RepriseError('STORE_FULL', 'no room');
    return put();
  });
  await using at = await openFamily(busyChildren(), { store });
  const session = await at.reprise.session(KEY);
  await spawned(at, session.id, ['a.', 'b.']);
  await expect(session.stop({ waiting: true })).rejects.toMatchObject({ code: 'STORE_FULL' });
  expect((await at.reprise.runs(session.id)).map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
});

test('/stop cancels messages that wait for an answer, not notes for the model', async () => {
  await using at = await openFamily(busyChildren(), { run: false });
  const session = await at.reprise.session(KEY);
  const put = async (body: object): Promise<string> => {
    const ticket = { mode: 'queue', debounceMs: 0, at: 0 } as const;
    const inbound = { sessionKey: KEY, sessionId: session.id, source: 'test' };
    return (await at.store.inbox.receive({ ...inbound, body: withTicket({ ...body }, ticket) })).inboxId;
  };
  const note = await put({ text: 'a child was stopped', system: true, silent: true });
  await put({ text: 'hello' });
  expect(await session.stop({ waiting: true })).toMatchObject({ stopped: false, cancelled: 1 });
  expect((await at.store.inbox.pending(session.id)).map(({ inboxId }) => inboxId)).toEqual([note]);
});
