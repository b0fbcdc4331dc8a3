import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../../src/engine/run-command.ts';
import type { ScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { KEY } from '../support/engine.ts';
import { call, type Family, openFamily, replying, resultsIn } from '../support/family.ts';

const never = new Promise<never>(() => undefined);

/** A parent that answers everything; its children never come to an end by themselves. */
function busyChildren(): ScriptedModel {
  return replying(({ text, request }) => {
    const isChild = request.system?.includes('You are a subagent') === true;
    if (isChild && text === 'pass it on.') return { calls: [call('sessions_spawn', { task: 'deep.' })] };
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

test('/stop ends the children of a session too, and none of them makes it speak again', async () => {
  await using at = await openFamily(busyChildren());
  const session = await at.reprise.session(KEY);
  await spawned(at, session.id, ['a.', 'b.']);
  const asked = at.model.requests.length;
  const context = { reprise: at.reprise, session, surface: 'repl' } as const;
  expect((await runCommand({ name: 'stop', args: '' }, context)).text).toBe('2 children stopped.');
  await at.reprise.idle();
  await expect.poll(() => resultsIn(at.store)).toHaveLength(2);
  expect(at.model.requests).toHaveLength(asked);
  expect(await at.reprise.runs(session.id)).toMatchObject([
    { status: 'cancelled', result: 'told' },
    { status: 'cancelled', result: 'told' },
  ]);
  expect(await at.store.inbox.pending()).toEqual([]);
  // What became of them is known when somebody speaks next.
  expect((await session.send('and now?').result).text).toContain('and now?');
  const last = JSON.stringify(at.model.requests.at(-1)?.messages);
  expect(last.match(/it was stopped with the session that gave the task/g)).toHaveLength(2);
  expect((await runCommand({ name: 'stop', args: '' }, context)).text).toBe('Nothing is running.');
});

test('children of children are stopped as well, and one that is stopped is deleted where that was asked for', async () => {
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

test('a turn that is stopped alone leaves the children at work', async () => {
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
