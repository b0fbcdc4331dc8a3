import { expect, test } from 'vitest';
import type { Command } from '../../src/engine/commands.ts';
import { runCommand } from '../../src/engine/run-command.ts';
import type { ScriptedModel } from '../../src/models/scripted/scripted-model.ts';
import { KEY } from '../support/engine.ts';
import { ask, call, type Family, openFamily, replying, resultsIn } from '../support/family.ts';

const never = new Promise<never>(() => undefined);

/** A parent that gives away what it is asked to; children that answer, or never do. */
function parentOf(isChildDone: boolean): ScriptedModel {
  return replying(({ text, isResult, request }) => {
    if (request.system?.includes('You are a subagent') === true)
      return isChildDone ? 'done it' : { wait: never, text: 'never said' };
    if (isResult) return 'working on it';
    if (text.startsWith('give away ')) return { calls: [call('sessions_spawn', { task: text.slice(10) })] };
    return 'heard';
  });
}

const RETRY: Command = { name: 'retry', args: '' };

async function again(at: Family, command: Command): Promise<string> {
  const session = await at.reprise.session(KEY);
  const context = { reprise: at.reprise, session, surface: 'repl' } as const;
  const { turn, code } = await runCommand(command, context);
  return (await turn?.result)?.text ?? String(code);
}

test.each<[string, Command]>([
  ['/retry', RETRY],
  ['/edit', { name: 'edit', args: 'give away another' }],
])(
  '%s behind the result of a child is refused, and the result stays where the model reads it',
  async (_, command) => {
    await using at = await openFamily(parentOf(true));
    await ask(at.reprise, 'give away one');
    expect(await resultsIn(at.store)).toHaveLength(1);
    const { id } = await at.reprise.session(KEY);
    const { leaf, lastSeq } = await at.store.get(id);
    await expect(again(at, command)).resolves.toBe('LEAF_MOVED');
    expect(await at.store.get(id)).toMatchObject({ leaf, lastSeq });
    await ask(at.reprise, 'and?');
    expect(JSON.stringify(at.model.requests.at(-1)?.messages)).toContain('done it');
  },
);

test('/retry of a message behind results of children asks the same with all of them', async () => {
  await using at = await openFamily(parentOf(false));
  const session = await at.reprise.session(KEY);
  for (const task of ['a.', 'b.', 'c.']) await at.reprise.spawn({ id: session.id }, { task });
  expect(await session.stop({ waiting: true })).toMatchObject({ children: 3 });
  await at.reprise.idle();
  await expect.poll(() => resultsIn(at.store)).toHaveLength(3);
  for (const message of ['and now?', { text: 'and what else?', context: 'it is late' }]) {
    await session.send(message).result;
    const first = at.model.requests.at(-1);
    expect(JSON.stringify(first).match(/it was stopped with the session/g)).toHaveLength(3);
    await again(at, RETRY);
    expect(at.model.requests.at(-1)).toEqual(first);
  }
});

test('/edit keeps the line about messages that were dropped as what it is, not as words of the one who edits', async () => {
  await using at = await openFamily(parentOf(true));
  const session = await at.reprise.session(KEY);
  const dropped = { type: 'custom_message', customType: 'dropped_messages', content: 'two were dropped' };
  await at.store.append(session.id, [{ ...dropped, display: false }]);
  await session.send('hello').result;
  await again(at, { name: 'edit', args: 'good evening' });
  const { entries } = await session.history({ limit: 100 });
  const notes = entries.flatMap(({ entry }) =>
    entry.type === 'custom_message' ? [entry['customType']] : [],
  );
  expect(notes).toEqual(['dropped_messages']);
  expect(JSON.stringify(at.model.requests.at(-1)).match(/two were dropped/g)).toHaveLength(1);
});
