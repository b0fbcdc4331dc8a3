import { describe, expect, test, vi } from 'vitest';
import { RepriseError, type Store } from '../../src/index.ts';
import { openMemoryStore } from '../../src/store/memory/open.ts';
import { scripted } from '../support/engine/engine.ts';
import { type Answer, startServer, type TestServer } from '../support/server/http.ts';

const MAIN = 'agent:main:main';

interface Two extends AsyncDisposable {
  readonly store: Store;
  /** Of the conversation both serve. */
  readonly id: string;
  readonly one: TestServer;
  readonly two: TestServer;
  /** What the models of both were asked since the conversation was made. */
  asked(): number;
}

/** Two servers on one store, which know of each other only what stands there. */
async function openTwo(turns: readonly string[] = ['hello', 'again']): Promise<Two> {
  const store = await openMemoryStore({});
  const models = [0, 1].map((n) => scripted(n === 0 ? turns.map((text) => `answer to ${text}`) : []));
  const compaction = { background: false, cut: { kind: 'keep-messages', messages: 4 } } as const;
  const [one, two] = await Promise.all(
    models.map((model) => startServer({}, { store, model, compaction, run: false })),
  );
  if (one === undefined || two === undefined) return expect.unreachable();
  const session = await one.reprise.session(MAIN);
  for (const text of turns) await session.send(text).result;
  for (const model of models) model.push(...Array.from({ length: 9 }, (_, i) => `said later ${i}`));
  return {
    store,
    id: session.id,
    one,
    two,
    asked: () => models.reduce((sum, { requests }) => sum + requests.length, 0) - turns.length,
    [Symbol.asyncDispose]: async () => {
      await one[Symbol.asyncDispose]();
      await two.close();
    },
  };
}

function post(server: TestServer, id: string, step: string, body: object, key = 'k1'): Promise<Answer> {
  return server.ask(`/api/agents/main/sessions/${id}/${step}`, {
    method: 'POST',
    body,
    headers: { 'Idempotency-Key': key },
  });
}

/** Everything that stands in a session; what was only looked at leaves nothing. */
async function lines(store: Store, id: string): Promise<string> {
  return Buffer.from(await store.exportSession(id)).toString();
}

async function userEntry(store: Store, id: string, text: string): Promise<string> {
  const { entries } = await store.read(id, { limit: 1000 });
  const found = entries.find(({ entry }) => JSON.stringify(entry).includes(`"content":"${text}"`));
  return (found?.entry as { id: string } | undefined)?.id ?? expect.unreachable();
}

/** What a session says of itself changes with it; all else of an answer must not. */
const saidOf = ({ status, json }: Answer): object => {
  const { session: _session, ...rest } = json;
  return { status, ...rest };
};

interface StepCase {
  readonly name: string;
  readonly step: string;
  readonly body: (at: Two) => Promise<object> | object;
  /** What makes it possible. */
  readonly before?: (at: Two) => Promise<unknown>;
}

const redoable = (at: Two): Promise<unknown> => post(at.one, at.id, 'undo', {}, 'k0');
const pinned = async (at: Two): Promise<unknown> =>
  post(at.one, at.id, 'pin', { entryId: await userEntry(at.store, at.id, 'hello') }, 'k0');

const STEPS: readonly StepCase[] = [
  { name: 'undo', step: 'undo', body: () => ({}) },
  { name: 'redo', step: 'redo', body: () => ({}), before: redoable },
  {
    name: 'branch',
    step: 'branch',
    body: async ({ store, id }) => ({ entryId: await userEntry(store, id, 'again'), place: 'before' }),
  },
  { name: 'compact', step: 'compact', body: () => ({ focus: 'names' }) },
  {
    name: 'pin',
    step: 'pin',
    body: async ({ store, id }) => ({ entryId: await userEntry(store, id, 'hello') }),
  },
  {
    name: 'unpin',
    step: 'unpin',
    body: async ({ store, id }) => ({ entryId: await userEntry(store, id, 'hello') }),
    before: pinned,
  },
  { name: '/undo', step: 'command', body: () => ({ command: '/undo' }) },
  { name: '/redo', step: 'command', body: () => ({ command: '/redo' }), before: redoable },
  { name: '/compact', step: 'command', body: () => ({ command: '/compact' }) },
  {
    name: '/compact undo',
    step: 'command',
    body: () => ({ command: '/compact undo' }),
    before: (at) => post(at.one, at.id, 'compact', {}, 'k0'),
  },
  { name: '/pin', step: 'command', body: () => ({ command: '/pin last' }) },
  { name: '/unpin all', step: 'command', body: () => ({ command: '/unpin all' }), before: pinned },
  {
    name: '/unpin',
    step: 'command',
    body: async ({ store, id }) => ({ command: `/unpin ${await userEntry(store, id, 'hello')}` }),
    before: pinned,
  },
];

describe('a step that is sent again to another server with its key', () => {
  const long = ['hello', ...Array.from({ length: 5 }, (_, i) => `${i} ${'why '.repeat(90)}`), 'again'];

  test.each(STEPS)(
    '$name is taken once, and is answered as the first time',
    async ({ step, body, before }) => {
      await using at = await openTwo(long);
      const { store, id, one, two } = at;
      await before?.(at);
      const asked = await body(at);
      const first = await post(one, id, step, asked);
      expect(first.status).toBe(200);
      const taken = await lines(store, id);
      const calls = at.asked();
      expect(saidOf(await post(two, id, step, asked))).toEqual(saidOf(first));
      expect(await lines(store, id)).toBe(taken);
      expect(at.asked()).toBe(calls);
    },
  );

  test.each(['undo', 'branch'])('%s undoes nothing that was sent in between', async (step) => {
    await using at = await openTwo();
    const { store, id, one, two } = at;
    const entryId = await userEntry(store, id, 'again');
    const body = step === 'branch' ? { entryId, place: 'before' } : {};
    await post(one, id, step, body);
    await (await two.reprise.session({ id })).send('in between').result;
    const { leaf } = await store.get(id);
    expect((await post(two, id, step, body)).status).toBe(200);
    expect((await store.get(id)).leaf).toBe(leaf);
  });

  test.each(['/pin last', '/unpin all', '/unpin'])(
    '%s returns the pins of that time, whatever was sent and pinned since',
    async (command) => {
      await using at = await openTwo();
      const { store, id, one, two } = at;
      if (command !== '/pin last') await pinned(at);
      const entryId = await userEntry(store, id, 'hello');
      const asked = { command: command === '/unpin' ? `/unpin ${entryId}` : command };
      const first = await post(one, id, 'command', asked);
      await (await two.reprise.session({ id })).send('in between').result;
      await post(one, id, 'pin', { entryId: await userEntry(store, id, 'in between') }, 'k2');
      const taken = await lines(store, id);
      const second = await post(two, id, 'command', asked);
      expect(saidOf(second)).toEqual(saidOf(first));
      expect(await lines(store, id)).toBe(taken);
    },
  );

  test('a pin is not refused for what was pinned since, but for another entry', async () => {
    await using at = await openTwo(['hello', 'again']);
    const { store, id, one, two } = at;
    const [hello, again] = [await userEntry(store, id, 'hello'), await userEntry(store, id, 'again')];
    const first = await post(one, id, 'pin', { entryId: hello });
    // By a tool that knows no limit.
    const long = { entryId: again, text: 'long '.repeat(400_000) };
    await store.append(id, [{ type: 'custom', customType: 'reprise.pin', data: long }]);
    expect(saidOf(await post(two, id, 'pin', { entryId: hello }))).toEqual(saidOf(first));
    expect((await post(two, id, 'pin', { entryId: hello }, 'k2')).json.code).toBe('LIMIT_EXCEEDED');
    expect((await post(two, id, 'pin', { entryId: again })).json.code).toBe('KEY_REUSED');
  });

  test('at both at once is taken once', async () => {
    await using at = await openTwo();
    const { store, id, one, two } = at;
    const told = await Promise.all([one, two, one, two].map((server) => post(server, id, 'undo', {})));
    const done = told.filter(({ status }) => status === 200);
    expect(done.length).toBeGreaterThanOrEqual(2);
    for (const { json } of done) expect(json['undone']).toBe('turn');
    for (const { json } of told.filter(({ status }) => status !== 200)) expect(json.code).toBe('IN_FLIGHT');
    const moves = (await lines(store, id)).split('\n').filter((line) => line.includes('"reprise.leaf"'));
    expect(moves).toHaveLength(1);
  });

  test('is refused where the key has done something else', async () => {
    await using at = await openTwo();
    const { store, id, one, two } = at;
    await post(one, id, 'undo', {});
    const taken = await lines(store, id);
    const entryId = await userEntry(store, id, 'hello');
    for (const [step, body] of [
      ['redo', {}],
      ['branch', { entryId }],
      ['compact', {}],
      ['pin', { entryId }],
    ] as const)
      expect(await post(two, id, step, body)).toMatchObject({ status: 422, json: { code: 'KEY_REUSED' } });
    expect(await lines(store, id)).toBe(taken);
  });
});

describe('a reset that is asked for again at another server', () => {
  test('starts one session, also when it has new messages since', async () => {
    await using at = await openTwo();
    const { store, id, one, two } = at;
    const first = await post(one, id, 'command', { command: '/new plans' });
    const fresh = String(first.json['sessionId']);
    await (await two.reprise.session({ id: fresh })).send('in between').result;
    expect(saidOf(await post(two, id, 'command', { command: '/new plans' }))).toEqual(saidOf(first));
    expect((await store.active(MAIN))?.id).toBe(fresh);
    expect((await store.list({ status: 'any' })).sessions).toHaveLength(2);
  });

  test('is undone once, though it was repeated since; so is its redo', async () => {
    await using at = await openTwo();
    const { store, id, one, two } = at;
    const fresh = (await one.reprise.renew(MAIN)).id;
    const undone = await post(one, fresh, 'undo', {}, 'back');
    expect(undone.json).toMatchObject({ undone: 'reset', sessionId: id });
    expect(saidOf(await post(two, fresh, 'undo', {}, 'back'))).toEqual(saidOf(undone));
    const redone = await post(one, id, 'redo', {}, 'forth');
    expect(redone.json).toMatchObject({ redone: 'reset', sessionId: fresh });
    await (await two.reprise.session({ id: fresh })).send('in between').result;
    const [old, now] = [await lines(store, id), await lines(store, fresh)];
    expect(saidOf(await post(two, fresh, 'undo', {}, 'back'))).toEqual(saidOf(undone));
    expect(saidOf(await post(two, id, 'redo', {}, 'forth'))).toEqual(saidOf(redone));
    expect((await store.active(MAIN))?.id).toBe(fresh);
    expect([await lines(store, id), await lines(store, fresh)]).toEqual([old, now]);
  });
});

test('a key the server made itself is not searched: no client can have sent it before', async () => {
  await using at = await openTwo();
  const { store, id, one } = at;
  using read = vi.spyOn(store, 'read');
  const searches = (): number =>
    read.mock.calls.filter(([, range]) => range?.direction === 'backward').length;
  const path = `/api/agents/main/sessions/${id}/compact`;
  const keyless = await one.ask(path, { method: 'POST', body: {} });
  expect([keyless.status, searches()]).toEqual([200, 0]);
  await post(one, id, 'compact', {}, 'of-the-client');
  expect(searches()).toBeGreaterThan(0);
});

test('/undo and /redo of a reset lead to the same session at another server, also when the key moved on', async () => {
  await using at = await openTwo();
  const { store, id, one, two } = at;
  const fresh = (await one.reprise.renew(MAIN)).id;
  const undone = await post(one, fresh, 'command', { command: '/undo' }, 'back');
  expect(undone.json['sessionId']).toBe(id);
  expect(saidOf(await post(two, fresh, 'command', { command: '/undo' }, 'back'))).toEqual(saidOf(undone));
  const redone = await post(one, id, 'command', { command: '/redo' }, 'forth');
  expect(redone.json['sessionId']).toBe(fresh);
  expect(saidOf(await post(two, id, 'command', { command: '/redo' }, 'forth'))).toEqual(saidOf(redone));
  expect(saidOf(await post(two, fresh, 'command', { command: '/undo' }, 'back'))).toEqual(saidOf(undone));
  expect((await store.active(MAIN))?.id).toBe(fresh);
});

test('a copy stays as it was made, also when it ended with a full batch and the source has new messages', async () => {
  await using at = await openTwo([]);
  const { store, id, one, two } = at;
  const message = { role: 'user', content: 'one of a hundred' };
  for (let i = 0; i < 100; i++) await store.append(id, [{ type: 'message', message }]);
  const made = (await post(one, id, 'fork', {})).json.session.id;
  const copied = await lines(store, made);
  await (await one.reprise.session({ id })).send('later').result;
  expect((await post(two, id, 'fork', {})).json.session.id).toBe(made);
  expect(await lines(store, made)).toBe(copied);
});

test('a copy that failed halfway is finished as it was started, whatever was sent since', async () => {
  await using at = await openTwo([]);
  const { store, id, one, two } = at;
  const said = { type: 'message', message: { role: 'user', content: 'one of many' } };
  for (let i = 0; i < 3; i++)
    await store.append(
      id,
      Array.from({ length: 50 }, () => said),
    );
  {
    const { append } = store;
    using failing = vi.spyOn(store, 'append');
    failing.mockImplementation(async (to, entries, options) => {
      if (options?.key === 'copy-1') throw new RepriseError('STORE_BUSY', 'not now');
      return append.call(store, to, entries, options);
    });
    expect((await post(one, id, 'fork', {})).status).toBe(503);
  }
  await (await one.reprise.session({ id })).send('later').result;
  const { session } = (await post(two, id, 'fork', {})).json;
  expect(await store.get(session.id)).toMatchObject({ messageCount: 150, parentId: id });
  expect(await lines(store, session.id)).not.toContain('later');
});

test('a copy that is asked for again at another server is one copy, by its route and as a command', async () => {
  await using at = await openTwo();
  const { store, id, one, two } = at;
  const first = await post(one, id, 'fork', {}, 'f1');
  expect((await post(two, id, 'fork', {}, 'f1')).json.session.id).toBe(first.json.session.id);
  const typed = await post(one, id, 'command', { command: '/fork' }, 'f2');
  expect(saidOf(await post(two, id, 'command', { command: '/fork' }, 'f2'))).toEqual(saidOf(typed));
  expect((await store.list({ status: 'any' })).sessions).toHaveLength(3);
});

test('/fork of an entry that its name no longer finds is the copy that was made, and stays as it was', async () => {
  await using at = await openTwo(['hello']);
  const { store, id, one, two } = at;
  const typed = await post(one, id, 'command', { command: '/fork last' }, 'f');
  const copied = await lines(store, String(typed.json['sessionId']));
  await post(one, id, 'undo', {}, 'u');
  expect((await post(two, id, 'command', { command: '/fork last' }, 'other')).status).toBe(404);
  expect(saidOf(await post(two, id, 'command', { command: '/fork last' }, 'f'))).toEqual(saidOf(typed));
  expect(await lines(store, String(typed.json['sessionId']))).toBe(copied);
});

describe('what sets something is set again at another server', () => {
  test('a title, a label, the trash: the state is the same, and what others did since is written over', async () => {
    await using at = await openTwo();
    const { store, id, one, two } = at;
    const path = `/api/agents/main/sessions/${id}`;
    const rename = { method: 'PATCH', body: { title: 'mine' }, headers: { 'Idempotency-Key': 'p' } };
    expect((await one.ask(path, rename)).json.session['title']).toBe('mine');
    await two.ask(path, { method: 'PATCH', body: { title: 'theirs' } });
    expect((await two.ask(path, rename)).json.session['title']).toBe('mine');
    const label = { command: '/rename plans' };
    for (const server of [one, two]) expect((await post(server, id, 'command', label, 'l')).status).toBe(200);
    expect((await store.get(id)).label).toBe('plans');
    const trash = { method: 'DELETE', headers: { 'Idempotency-Key': 'd' } };
    for (const server of [one, two]) expect((await server.ask(path, trash)).status).toBe(200);
    expect((await store.get(id)).status).toBe('deleted');
    for (const server of [one, two]) expect((await post(server, id, 'restore', {}, 'r')).status).toBe(200);
    expect((await store.get(id)).status).toBe('open');
    await one.ask(path, { method: 'DELETE' });
    expect((await post(one, id, 'purge', {}, 'x')).status).toBe(200);
    expect(await post(two, id, 'purge', {}, 'x')).toMatchObject({ status: 410, json: { code: 'GONE' } });
  });

  test('a stop stops what runs when it arrives, so a late one ends a later turn, and received text is kept', async () => {
    const store = await openMemoryStore({});
    await using one = await startServer({}, { store, model: scripted([]) });
    await using two = await startServer(
      {},
      { store, model: scripted([{ wait: new Promise(() => undefined) }]) },
    );
    const session = await two.reprise.session(MAIN);
    const stop = (server: TestServer): Promise<Answer> =>
      server.ask('/api/agents/main/chat/stop', {
        method: 'POST',
        body: { sessionId: session.id },
        headers: { 'Idempotency-Key': 's' },
      });
    expect((await stop(one)).json).toMatchObject({ stopped: false });
    const turn = session.send('a later turn');
    turn.result.catch(() => undefined);
    for await (const { type } of turn) if (type === 'turn_start') break;
    expect((await stop(two)).json).toMatchObject({ stopped: true });
    await expect(turn.result).rejects.toMatchObject({ code: 'ABORTED' });
    expect(await lines(store, session.id)).toContain('a later turn');
  });
});
