import { describe, expect, test } from 'vitest';
import type { ProfileName } from '../../../src/engine/agents/profiles.ts';
import type { Command } from '../../../src/engine/commands/commands.ts';
import { runCommand } from '../../../src/engine/commands/run-command.ts';
import { entriesOf as wordsOf } from '../../../src/engine/intake/inbound.ts';
import { goToPlace } from '../../../src/engine/schedule/own-place.ts';
import type { InboxItem } from '../../../src/exports/store.ts';
import type { Entry, Session, Store } from '../../../src/index.ts';
import type { ScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { openMemoryStore } from '../../../src/store/memory/open.ts';
import { contentText } from '../../../src/transcript/content.ts';
import { isObject } from '../../../src/transcript/json.ts';
import { pathEntries } from '../../../src/transcript/tree.ts';
import { entriesOf, KEY, openEngine, scripted } from '../../support/engine/engine.ts';
import { ask, call, type Family, openFamily, replying, resultsIn } from '../../support/engine/family.ts';

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
  '%s after the result of a child is refused, and the result stays where the model reads it',
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

test('/retry of a message after results of children asks the same with all of them', async () => {
  await using at = await openFamily(parentOf(false));
  const session = await at.reprise.session(KEY);
  for (const task of ['a.', 'b.', 'c.']) await at.reprise.spawn({ id: session.id }, { task });
  expect(await session.stop({ waiting: true })).toMatchObject({ children: 3 });
  await at.reprise.idle();
  await expect.poll(() => resultsIn(at.store)).toHaveLength(3);
  for (const message of ['and now?', { text: 'and what else?', context: 'it is late' }]) {
    await session.send(message).result;
    const first = at.model.requests.at(-1);
    expect(JSON.stringify(first).match(/the task was stopped together with the session/g)).toHaveLength(3);
    await again(at, RETRY);
    expect(at.model.requests.at(-1)).toEqual(first);
  }
});

test('/edit keeps the note about dropped messages as a note, not as words of the sender', async () => {
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

describe.each<[string, ProfileName]>([
  ['written as it is said', 'native'],
  ['written when it has ended', 'zeroclaw'],
])(
  'a message that replaces an earlier one, while others wait, of a session whose turn is %s',
  (_, profile) => {
    const texts = (entries: readonly Entry[]): string[] =>
      entries.flatMap(({ message }) => {
        const { role, content } = (message ?? {}) as { role?: string; content?: unknown };
        return role === undefined ? [] : [contentText(content)];
      });

    /** The next turn answers it in its place and continues from there. */
    const saysItThere = async (store: Store): Promise<void> => {
      await using next = await openEngine(scripted(['1, again', 'after']), {
        store,
        profile,
        session: { queue: { mode: 'followup' } },
      });
      await next.session.send('and?').result;
      expect(texts(pathEntries(await entriesOf(next.session)))).toEqual([
        'one, again',
        '1, again',
        'and?',
        'after',
      ]);
    };

    test('is appended there when they were answered on their branch', async () => {
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      const model = scripted(['1', { wait: gate, text: '2' }, '3', 'one, again']);
      await using at = await openEngine(model, { profile, session: { queue: { mode: 'followup' } } });
      await at.session.send('one').result;
      const [before = ''] = (await entriesOf(at.session))
        .filter(({ message }) => isObject(message) && message['role'] === 'user')
        .map(({ id }) => id);
      const two = at.session.send('two');
      await two.accepted;
      await expect.poll(() => model.requests.length).toBe(2);
      const three = at.session.send('three');
      await three.accepted;
      const again = at.session.sendAgain({ before, text: 'one, in other words' });
      open();
      expect(
        (await Promise.all([two, three, again].map(({ result }) => result))).map(({ text }) => text),
      ).toEqual(['2', '3', 'one, again']);
      const all = await entriesOf(at.session);
      expect(texts(pathEntries(all))).toEqual(['one, in other words', 'one, again']);
      // The queued messages belong to the old branch, which one undo returns to.
      await at.session.branch(before, { place: 'end' });
      expect(texts(pathEntries(await entriesOf(at.session)))).toEqual(['one', '1', 'two', '2', 'three', '3']);
    });

    test('is appended where the conversation stood when it was requested', async () => {
      const model = scripted(['1', 'the other', 'one, again']);
      const store = await openMemoryStore({});
      await using at = await openEngine(model, { store, profile });
      await at.session.send('one').result;
      const [before = ''] = (await entriesOf(at.session))
        .filter(({ message }) => isObject(message) && message['role'] === 'user')
        .map(({ id }) => id);
      await at.session.branch(before, { place: 'before' });
      // Accepted, and no runner has looked at it yet.
      const { id: sessionId } = at.session;
      await store.inbox.receive({ sessionKey: KEY, sessionId, source: 'test', body: { text: 'another' } });
      const { text } = await at.session.sendAgain({ before, text: 'one, in other words' }).result;
      expect(text).toBe('one, again');
      expect(texts(pathEntries(await entriesOf(at.session)))).toEqual(['one, in other words', 'one, again']);
      expect(model.requests.at(-1)?.messages).toHaveLength(1);
    });

    /** From now on, no runner here takes accepted messages. */
    const afterTwoTurns = async () => {
      const store = await openMemoryStore({});
      const at = await openEngine(scripted(['1', '2']), { store, profile });
      await at.session.send('one').result;
      await at.session.send('two').result;
      await at.reprise.idle();
      return { store, at, id: at.session.id };
    };

    test.each<[string, (session: Session, last: string) => Promise<unknown>]>([
      ['took the step back', (session) => session.redo()],
      ['went elsewhere', (session, last) => session.branch(last)],
    ])('goes there again where somebody %s before it was said', async (_name, leave) => {
      const { store, at, id } = await afterTwoTurns();
      const inbound = { sessionKey: KEY, sessionId: id, source: 'test' };
      const place = { parentId: null, data: { branch: true } };
      await store.inbox.receive({ ...inbound, body: { text: 'one, again', place } });
      const said = (await entriesOf(at.session)).filter(({ type }) => type === 'message');
      {
        await using lease = await store.lease(id);
        const { epoch } = lease;
        const item = (await store.inbox.take(id, { epoch })) as InboxItem;
        await goToPlace(store, item, await store.get(id), epoch);
      }
      await leave(at.session, said[1]?.id ?? '');
      await at.reprise.idle();
      await saysItThere(store);
    });

    test('moves there once, however often its process dies', async () => {
      const { store, at, id } = await afterTwoTurns();
      const [before] = (await entriesOf(at.session)).filter(
        ({ message }) => isObject(message) && message['role'] === 'user',
      );
      const place = { parentId: before?.parentId ?? null, data: { branch: true } };
      const inbound = { sessionKey: KEY, sessionId: id, source: 'test' };
      const { inboxId } = await store.inbox.receive({ ...inbound, body: { text: 'one, again', place } });
      {
        // It died after the step, and after its message where both are written at once.
        await using lease = await store.lease(id);
        const { epoch } = lease;
        const item = (await store.inbox.take(id, { epoch })) as InboxItem;
        await goToPlace(store, item, await store.get(id), epoch);
        if (profile === 'native') await store.append(id, wordsOf(item), { key: inboxId, epoch });
      }
      await saysItThere(store);
    });
  },
);
