import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { entriesOf } from '../../../src/engine/intake/inbound.ts';
import type { SpawnRequest } from '../../../src/exports/engine.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { KEY } from '../../support/engine/engine.ts';
import { ask, call, idOf, openFamily, replying, resultsIn, waiting } from '../../support/engine/family.ts';

const homes: string[] = [];
function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'reprise-subagents-'));
  homes.push(home);
  return home;
}
afterAll(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

/** A parent that does what its messages say in JSON; children answer `did <task>`. */
function obedient() {
  return replying(({ text, isResult, request }) => {
    if (isResult) return `tools said ${text}`;
    if (text.includes('[The subagent')) return 'noted';
    const isChild = request.system?.includes('You are a subagent') === true;
    if (isChild && !text.startsWith('[')) return `did ${text}`;
    if (!text.startsWith('[')) return `heard ${text}`;
    return { calls: (JSON.parse(text) as SpawnRequest[]).map((input) => call('sessions_spawn', input)) };
  });
}

const spawn = (...requests: readonly object[]): string => JSON.stringify(requests);

describe.each(['memory', 'jsonl'] as const)('children of a session (%s)', (kind) => {
  test('T39 twenty spawned at once are each reported once', async () => {
    await using at = await openFamily(obedient(), {
      kind,
      home: newHome(),
      agents: { defaults: { subagents: { maxChildren: 20 } } },
    });
    const tasks = Array.from({ length: 20 }, (_, i) => ({ task: `task-${i}.`, label: `child ${i}` }));
    const answer = await ask(at.reprise, spawn(...tasks));
    expect(answer.match(/accepted/g)).toHaveLength(20);
    const results = await resultsIn(at.store);
    expect(results).toHaveLength(20);
    for (const { task, label } of tasks)
      expect(
        results.filter((text) => text.includes(`"${label}"`) && text.endsWith(`did ${task}`)),
      ).toHaveLength(1);
    const runs = await at.reprise.runs(await idOf(at.store));
    expect(runs).toHaveLength(20);
    for (const run of runs) expect(run).toMatchObject({ status: 'done', result: 'told', cleanup: 'keep' });
  });

  test('twelve spawned at once of which five may run: five are accepted, seven are refused with the reason', async () => {
    const { promise: go, resolve } = Promise.withResolvers<void>();
    await using at = await openFamily(
      replying(({ isResult, text }) =>
        isResult || text.includes('[The') ? 'noted' : { wait: go, text: 'did it' },
      ),
      { kind, home: newHome() },
    );
    const { id } = await at.reprise.session(KEY);
    const results = await Promise.all(
      Array.from({ length: 12 }, (_, i) => at.reprise.spawn({ id }, { task: `task ${i}` })),
    );
    expect(results.filter(({ status }) => status === 'accepted')).toHaveLength(5);
    expect(results.filter(({ status }) => status === 'forbidden')).toHaveLength(7);
    expect(results.find(({ status }) => status === 'forbidden')?.reason).toContain('at most 5');
    expect((await at.store.list({ kind: 'subagent' })).sessions).toHaveLength(5);
    resolve();
    await at.reprise.idle();
    expect(await resultsIn(at.store)).toHaveLength(5);
    // Those have ended: there is place again.
    expect(await at.reprise.spawn({ id }, { task: 'one more' })).toMatchObject({ status: 'accepted' });
  });

  test('S10 a child with cleanup "delete" is deleted when its parent has its result', async () => {
    await using at = await openFamily(obedient(), { kind, home: newHome() });
    await ask(
      at.reprise,
      spawn({ task: 'a.', cleanup: 'delete' }, { task: 'b.', cleanup: 'delete' }, { task: 'c.' }),
    );
    expect(await resultsIn(at.store)).toHaveLength(3);
    const { sessions } = await at.store.list({ kind: 'subagent' });
    expect(sessions.map(({ title }) => title)).toEqual(['c.']);
  });
});

test('S10 a result waits for its parent over a restart and is delivered once', async () => {
  const home = newHome();
  let runId: string | undefined;
  {
    await using first = await openFamily(obedient(), { kind: 'jsonl', home, run: false });
    const { id } = await first.reprise.session(KEY);
    // Another process holds the parent: its child ends meanwhile.
    const lease = await first.store.lease(id);
    const spawned = await first.reprise.spawn({ id }, { task: 'alone.', cleanup: 'delete' });
    expect(spawned).toMatchObject({ status: 'accepted' });
    runId = spawned.runId;
    await expect.poll(async () => waiting(await first.store.inbox.pending(id)).length).toBe(1);
    await lease.release({ handOver: true });
  }
  await using second = await openFamily(obedient(), { kind: 'jsonl', home });
  await second.reprise.idle();
  expect(await resultsIn(second.store)).toEqual([expect.stringContaining('did alone.')]);
  const [run] = await second.reprise.runs(await idOf(second.store));
  expect(run).toMatchObject({ runId, status: 'done', result: 'told' });
  expect((await second.store.get(run?.childSessionId ?? '')).status).toBe('deleted');
});

test('an engine that runs its own sessions only runs their children too, and their results are answered', async () => {
  await using at = await openFamily(obedient(), { run: false });
  await ask(at.reprise, spawn({ task: 'mine.' }));
  expect(await resultsIn(at.store)).toEqual([expect.stringContaining('did mine.')]);
  expect(await at.store.inbox.pending()).toEqual([]);
});

test('a child receives its task and its own system prompt, and no history of its parent', async () => {
  await using at = await openFamily(obedient(), {
    agents: { defaults: { subagents: {} }, main: { systemPrompt: 'Speak like a pirate.' } },
  });
  await ask(at.reprise, 'the word is xyzzy');
  const request = { task: 'count the files', label: 'counter', thinking: 'high' } as const;
  const { status, childSessionKey = '', modelApplied } = await at.reprise.spawn(KEY, request);
  expect({ status, modelApplied }).toEqual({ status: 'accepted', modelApplied: undefined });
  expect(childSessionKey).toMatch(/^agent:main:subagent:[0-9a-f-]{36}$/);
  await at.reprise.idle();
  const asked = at.model.requests.filter(({ system }) => system?.includes('You are a subagent') === true);
  expect(asked).toMatchObject([
    {
      thinkingLevel: 'high',
      system: expect.stringMatching(/^Speak like a pirate\.\n\nYou are a subagent: /),
      messages: [{ role: 'user', content: [{ type: 'text', text: 'count the files' }] }],
    },
  ]);
  const child = await at.store.active(childSessionKey);
  expect(child).toMatchObject({
    label: 'counter',
    parentId: await idOf(at.store),
    settings: { spawnedBy: KEY },
  });
});

describe('a result', () => {
  test('is answered where the parent was asked, and the child answers nowhere', async () => {
    await using at = await openFamily(obedient());
    const from = {
      channel: 'telegram',
      account: 'bot',
      peer: '77',
      thread: '3',
      sender: { id: '77', name: 'Ada' },
    };
    const { inboxId, sessionId } = await at.reprise.receive({ ...from, text: spawn({ task: 'look.' }) });
    await expect.poll(async () => (await at.reprise.inbox(inboxId)).status).toBe('done');
    await at.reprise.idle();
    const [run] = await at.reprise.runs(sessionId);
    const task = await at.store.inbox.get(run?.inboxId ?? '');
    expect(task.body).not.toHaveProperty('from');
    const told = await at.store.inbox.known({
      sessionKey: task.sessionKey,
      source: 'subagent',
      idempotencyKey: `result:${run?.runId}`,
    });
    expect(told?.body).toMatchObject({
      from: { channel: 'telegram', account: 'bot', peer: '77', thread: '3' },
    });
    // No person wrote it: it does not carry the name of the sender.
    expect(JSON.stringify(told?.body)).not.toContain('Ada');
  });

  test('of a child that takes too long says so', async () => {
    await using at = await openFamily(
      replying(({ text }) => (text.includes('[The') ? 'noted' : { wait: new Promise(() => undefined) })),
    );
    const { id } = await at.reprise.session(KEY);
    await at.reprise.spawn({ id }, { task: 'for ever', runTimeoutSeconds: 0.05 });
    await at.reprise.idle();
    expect(await resultsIn(at.store)).toEqual([expect.stringContaining('has ended: timeout')]);
    expect(await at.reprise.runs(id)).toMatchObject([{ status: 'timeout', result: 'told' }]);
  });

  test('of a child that fails or is stopped says so', async () => {
    await using at = await openFamily(
      replying(({ text }) => {
        if (text.includes('[The')) return 'noted';
        return text === 'fail' ? new Error('no power') : { wait: new Promise(() => undefined) };
      }),
    );
    const { id } = await at.reprise.session(KEY);
    await at.reprise.spawn({ id }, { task: 'fail' });
    const { childSessionKey = '' } = await at.reprise.spawn({ id }, { task: 'wait' });
    const child = await at.reprise.session(childSessionKey);
    await expect.poll(async () => (await child.stop()).stopped).toBe(true);
    await at.reprise.idle();
    const results = (await resultsIn(at.store)).join();
    expect(results).toContain('has ended: failed. Its task was: fail');
    expect(results).toContain('no power');
    expect(results).toContain('has ended: cancelled. Its task was: wait');
  });

  test.each(['cancelled', 'deleted'])(
    'of a child that is %s before it ran is reported all the same',
    async (how) => {
      const { promise: go, resolve } = Promise.withResolvers<void>();
      await using at = await openFamily(
        replying(({ text }) => (text.includes('[The') ? 'noted' : { wait: go, text: 'did it' })),
        { lanes: { children: 1 } },
      );
      const { id } = await at.reprise.session(KEY);
      await at.reprise.spawn({ id }, { task: 'first' });
      await expect.poll(() => at.model.requests.length).toBe(1);
      const { childSessionKey = '' } = await at.reprise.spawn({ id }, { task: 'second' });
      const child = await at.reprise.session(childSessionKey);
      if (how === 'deleted') await at.store.delete(child.id);
      else expect(await child.stop({ waiting: true })).toMatchObject({ cancelled: 1 });
      await expect.poll(() => resultsIn(at.store)).toHaveLength(1);
      expect((await resultsIn(at.store))[0]).toContain('has ended: cancelled. Its task was: second');
      resolve();
      await at.reprise.idle();
      expect(await resultsIn(at.store)).toHaveLength(2);
    },
  );

  test('for a parent that was reset goes to the session that asked; one for a deleted session is skipped', async () => {
    const { promise: go, resolve } = Promise.withResolvers<void>();
    await using at = await openFamily(
      replying(({ text }) => (text.includes('[The') ? 'noted' : { wait: go, text: 'did it' })),
    );
    const reset = await at.reprise.session(KEY);
    await at.reprise.spawn({ id: reset.id }, { task: 'for the first' });
    const gone = await at.reprise.session('agent:main:direct:gone');
    await at.reprise.spawn({ id: gone.id }, { task: 'for nobody' });
    await expect.poll(() => at.model.requests.length).toBe(2);
    await at.store.inbox.receive({
      sessionKey: KEY,
      source: 'test',
      body: { text: 'hi' },
      reset: { reason: 'new' },
    });
    await at.store.delete(gone.id);
    resolve();
    await at.reprise.idle();
    expect(await resultsIn(at.store)).toEqual([]);
    const { entries } = await at.store.read(reset.id);
    expect(JSON.stringify(entries)).toContain('for the first');
    expect(await at.reprise.runs(reset.id)).toMatchObject([{ status: 'done', result: 'told' }]);
    expect(await at.reprise.runs(gone.id)).toMatchObject([{ status: 'done', result: 'none' }]);
  });

  test('that cannot be delivered does not keep a run open that crashed too often', async () => {
    const store = await openMemoryStore({});
    const { id } = await store.create({ key: KEY, activate: true });
    await store.delete(id);
    const run = { runId: 'r1', parentSessionId: id, parentKey: KEY, cleanup: 'keep' };
    const sessionKey = 'agent:main:subagent:r1';
    const body = { text: 'crash', run };
    const { inboxId, sessionId } = await store.inbox.receive({ sessionKey, source: 'subagent', body });
    const lease = await store.lease(sessionId);
    const { epoch } = lease;
    for (let i = 0; i < 3; i++) await store.inbox.take(sessionId, { epoch, orphans: true });
    // Each process died when the result was stored.
    await store.append(sessionId, entriesOf(await store.inbox.get(inboxId)), { key: inboxId, epoch });
    await lease.release();
    await using at = await openFamily(obedient(), { store });
    await at.reprise.idle();
    expect(await at.reprise.inbox(inboxId)).toMatchObject({ status: 'failed' });
  });
});
