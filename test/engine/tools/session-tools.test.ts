import { describe, expect, test } from 'vitest';
import type { Agents } from '../../../src/exports/engine.ts';
import { KEY } from '../../support/engine/engine.ts';
import { type Asked, ask, call, idOf, openFamily, replying, resultsIn } from '../../support/engine/family.ts';

const ALICE = 'agent:main:web:direct:alice';
const BOB = 'agent:main:web:direct:bob';

/** `!name {input}` calls a tool and answers with its result; everything else is repeated. */
function caller(
  other: (asked: Asked) => ReturnType<Parameters<typeof replying>[0]> = ({ text }) => `heard ${text}`,
) {
  return replying((asked) => {
    const { text, isResult } = asked;
    if (isResult) return text;
    const line = text.split('\n').at(-1) ?? '';
    const [, name = '', input = ''] = /^!(\w+) (.*)$/.exec(line) ?? [];
    return name === '' ? other(asked) : { calls: [call(name, JSON.parse(input) as object)] };
  });
}

const use = (name: string, input: object = {}): string => `!${name} ${JSON.stringify(input)}`;
const scoped = (scope: 'tree' | 'agent' | 'all'): Agents => ({
  defaults: { sessionTools: { scope }, subagents: { maxDepth: 2 } },
});

describe('what a session can reach', () => {
  test('is itself and its children; other chats are as if they did not exist', async () => {
    await using at = await openFamily(caller(), { agents: scoped('tree') });
    await ask(at.reprise, 'my secret is 4711', BOB);
    await ask(at.reprise, 'I am Alice', ALICE);
    await at.reprise.spawn(ALICE, { task: 'task of the child', label: 'kid' });
    await at.reprise.idle();

    const list = await ask(at.reprise, use('sessions_list'), ALICE);
    expect(list).toContain(ALICE);
    expect(list).toContain('kid');
    expect(list).not.toContain('bob');
    expect(await ask(at.reprise, use('sessions_history', { label: 'kid' }), ALICE)).toContain(
      'task of the child',
    );

    const foreign = await ask(at.reprise, use('sessions_history', { sessionKey: BOB }), ALICE);
    const missing = await ask(
      at.reprise,
      use('sessions_history', { sessionKey: BOB.replace('bob', 'bib') }),
      ALICE,
    );
    expect(foreign).toContain('no session ');
    expect(foreign.replaceAll('bob', 'bib').replace(/call\d\w+/, '')).toBe(missing.replace(/call\d\w+/, ''));
    expect(
      await ask(at.reprise, use('sessions_send', { sessionKey: BOB, message: 'psst' }), ALICE),
    ).toContain('no session ');
    // The question itself is in her own history, and nothing else is.
    const found = await ask(at.reprise, use('sessions_search', { query: '4711' }), ALICE);
    expect(found.match(/sessionKey/g)).toHaveLength(1);
    expect(found).not.toContain('secret');
    expect(await ask(at.reprise, use('sessions_search', { query: 'TASK OF' }), ALICE)).toContain(
      'task of the child',
    );
    const { entries } = await at.store.read(await idOf(at.store, BOB));
    expect(JSON.stringify(entries)).not.toContain('psst');
  });

  test('does not go up: a child reads neither its parent nor its parent’s other chats', async () => {
    await using at = await openFamily(caller(), { agents: scoped('tree') });
    await ask(at.reprise, 'my secret is 4711', BOB);
    for (const sessionKey of [ALICE, BOB])
      await at.reprise.spawn(ALICE, { task: use('sessions_history', { sessionKey }), label: sessionKey });
    await at.reprise.spawn(ALICE, { task: use('sessions_search', { query: '4711' }) });
    await at.reprise.spawn(ALICE, { task: use('sessions_list') });
    await at.reprise.idle();
    const results = await resultsIn(at.store, ALICE);
    expect(results).toHaveLength(4);
    expect(results.filter((text) => text.includes('no session '))).toHaveLength(2);
    expect(results.join()).not.toContain('is 4711');
    const listed = results.find((text) => text.includes('sessions\\":[')) ?? '';
    expect(listed.match(/sessionKey/g)).toHaveLength(1);
  });

  test('is all of the agent, or all there is, where that is configured; a child never reaches further', async () => {
    await using agent = await openFamily(caller(), { agents: { ...scoped('agent'), other: {} } });
    await ask(agent.reprise, 'my secret is 4711', BOB);
    await ask(agent.reprise, 'elsewhere 4711', 'agent:other:main');
    const found = await ask(agent.reprise, use('sessions_search', { query: '4711' }), ALICE);
    expect(found).toContain('my secret');
    expect(found).not.toContain('elsewhere');
    expect(
      await ask(agent.reprise, use('sessions_history', { sessionKey: 'agent:other:main' }), ALICE),
    ).toContain('no session ');

    const narrow: Agents = {
      main: { ...scoped('tree').defaults, allowAgents: '*' },
      other: scoped('all').defaults ?? {},
    };
    await using all = await openFamily(caller(), { agents: narrow });
    await ask(all.reprise, 'my secret is 4711', BOB);
    expect(
      await ask(all.reprise, use('sessions_history', { sessionKey: BOB }), 'agent:other:main'),
    ).toContain('4711');
    const task = use('sessions_history', { sessionKey: BOB });
    await all.reprise.spawn(ALICE, { task, agentId: 'other' });
    await all.reprise.idle();
    expect((await resultsIn(all.store, ALICE)).join()).toContain('no session ');
  });

  test.each([
    ['a key that is none', { sessionKey: '../../etc/passwd' }],
    ['a key that is too long', { sessionKey: `agent:main:${'x'.repeat(5000)}` }],
    ['an empty key', { sessionKey: '' }],
    ['a key with controls', { sessionKey: 'agent:main:\u0000\u202e' }],
    ['no name', {}],
    ['two names', { sessionKey: KEY, label: 'me' }],
    ['a key that is no text', { sessionKey: 7 }],
    ['a limit that is none', { sessionKey: KEY, limit: 1e9 }],
  ])('is asked for by %s: an error the model reads', async (_what, input) => {
    await using at = await openFamily(caller());
    const answer = await ask(at.reprise, use('sessions_history', input));
    expect(answer).toContain('"isError":true');
    expect(answer).toMatch(/no session |name the session|limit cannot be|do not fit/);
  });

  test('by a label that two children have says which they are', async () => {
    await using at = await openFamily(caller());
    for (const task of ['a.', 'b.']) await at.reprise.spawn(KEY, { task, label: 'twin' });
    await at.reprise.idle();
    expect(await ask(at.reprise, use('sessions_send', { label: 'twin', message: 'hi' }))).toContain(
      'several sessions',
    );
  });
});

describe('a message to another session', () => {
  test('is answered there; with a timeout the answer comes back', async () => {
    await using at = await openFamily(caller(), { agents: scoped('agent') });
    await ask(at.reprise, 'hello', BOB);
    expect(
      await ask(at.reprise, use('sessions_send', { sessionKey: BOB, message: 'later' }), ALICE),
    ).toContain('accepted');
    const answer = await ask(
      at.reprise,
      use('sessions_send', { sessionKey: BOB, message: 'now', timeoutSeconds: 60 }),
      ALICE,
    );
    expect(answer).toContain('done');
    expect(answer).toContain(`heard [Message of the session ${ALICE}]`);
    const { entries } = await at.store.read(await idOf(at.store, BOB));
    expect(JSON.stringify(entries)).toContain('later');
  });

  test('that is not answered in time is still answered', async () => {
    const { promise: go, resolve } = Promise.withResolvers<void>();
    await using at = await openFamily(
      caller(({ text }) => (text.includes('slow') ? { wait: go, text: 'at last' } : 'yes')),
      { agents: scoped('agent') },
    );
    await ask(at.reprise, 'hello', BOB);
    const alice = await at.reprise.session(ALICE);
    const input = { sessionKey: BOB, message: 'slow', timeoutSeconds: 0.05 };
    expect((await alice.send(use('sessions_send', input)).result).text).toContain('not answered in time');
    resolve();
    await at.reprise.idle();
    const { entries } = await at.store.read(await idOf(at.store, BOB));
    expect(JSON.stringify(entries)).toContain('at last');
  });

  test('two who wait for each other: the second is refused, directly and over a third', async () => {
    const keys = ['a', 'b', 'c'].map((peer) => `agent:main:web:direct:${peer}`);
    for (const circle of [keys.slice(0, 2), keys]) {
      await using at = await openFamily(caller(), { agents: scoped('agent') });
      for (const key of circle) await ask(at.reprise, 'hello', key);
      // Each asks the next to ask the next; the last comes back to the first.
      const [first = '', ...others] = circle;
      let message = use('sessions_send', { sessionKey: first, message: 'and you?', timeoutSeconds: 60 });
      for (const sessionKey of others.reverse())
        message = use('sessions_send', { sessionKey, message, timeoutSeconds: 60 });
      const answer = await ask(at.reprise, message, first);
      expect(answer).toContain('because it waits for you');
      expect(answer).toContain('done');
    }
  });

  test('two sessions that start to wait for each other at the same time both continue', async () => {
    await using at = await openFamily(caller(), { agents: scoped('agent') });
    for (const key of [ALICE, BOB]) await ask(at.reprise, 'hello', key);
    const to = (sessionKey: string): string =>
      use('sessions_send', { sessionKey, message: 'and you?', timeoutSeconds: 600 });
    const answers = await Promise.all([ask(at.reprise, to(BOB), ALICE), ask(at.reprise, to(ALICE), BOB)]);
    for (const answer of answers) expect(answer).toMatch(/because it waits for you|heard/);
    expect(answers.join()).toContain('because it waits for you');
  });

  test('is not waited for if the other is above: its parent, or an ancestor of that', async () => {
    await using at = await openFamily(caller(), { agents: scoped('all') });
    const message = use('sessions_send', { sessionKey: ALICE, message: 'up', timeoutSeconds: 60 });
    await at.reprise.spawn(ALICE, { task: message });
    await at.reprise.idle();
    expect((await resultsIn(at.store, ALICE)).join()).toContain('because it waits for your task');
  });

  test('parents that fill their lane and wait for others do not keep those from running', async () => {
    await using at = await openFamily(caller(), {
      agents: scoped('agent'),
      lanes: { turns: 2, children: 1 },
    });
    const peers = ['a', 'b', 'c', 'd'].map((peer) => `agent:main:web:direct:${peer}`);
    for (const key of peers) await ask(at.reprise, 'hello', key);
    const waitFor = (sessionKey: string, message = 'work'): string =>
      use('sessions_send', { sessionKey, message, timeoutSeconds: 60 });
    const [a = '', b = '', c = '', d = ''] = peers;
    const answers = await Promise.all([ask(at.reprise, waitFor(c), a), ask(at.reprise, waitFor(d), b)]);
    for (const answer of answers) expect(answer).toContain('done');
    // The same below: one child at a time, and it waits for its own.
    const { childSessionKey: child = '' } = await at.reprise.spawn(KEY, { task: 'be there' });
    const { childSessionKey: below = '' } = await at.reprise.spawn(child, { task: 'be there too' });
    await at.reprise.idle();
    expect(await ask(at.reprise, waitFor(below), child)).toContain('done');
  });
});
