import { describe, expect, test } from 'vitest';
import { contextMessages } from '../../../src/engine/commands/context.ts';
import type { Tool } from '../../../src/engine/tools/tool.ts';
import { historyTurnsFor } from '../../../src/engine/window/history-turns.ts';
import { limitHistoryTurns } from '../../../src/exports/context.ts';
import { messagesText } from '../../../src/messages/english.ts';
import { usageOf } from '../../../src/models/usage.ts';
import { openEngine, say, scripted } from '../../support/engine/engine.ts';
import { linesOf, messagesOf } from '../../support/engine/profile-home.ts';

const look: Tool = {
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object' },
  safe: true,
  run: async () => 'seen',
};

describe('limitHistoryTurns: only the last turns are sent', () => {
  test('the last N user turns with their calls and results; the store keeps all', async () => {
    const script = scripted(['one', { calls: [{ name: 'look' }] }, 'two', 'three']);
    await using at = await openEngine(script, { tools: [look], session: { historyTurns: 2 } });
    for (const text of ['a', 'b', 'c']) await say(at.session, text);
    expect(linesOf(at.model.requests.at(-1))).toEqual([
      'user: b',
      'assistant: (look)',
      'tool: seen',
      'assistant: two',
      'user: c',
    ]);
    expect(await messagesOf(at.session)).toHaveLength(8);
    const report = await at.session.context();
    expect(report).toMatchObject({ historyTurns: 2, unsentMessages: 2 });
    expect(messagesText(contextMessages(report))).toContain(
      'History limit: the last 2 turns are sent, 2 older messages not',
    );
    const { calls } = await at.session.explain();
    expect(calls).toMatchObject([{ verified: true, cacheBreakCode: 'historyTurns' }]);
  });

  test('the setting of a session wins, and a higher one sends older turns again', async () => {
    await using at = await openEngine(scripted(['1', '2', '3', '4']), { session: { historyTurns: 1 } });
    for (const text of ['a', 'b', 'c']) await say(at.session, text);
    expect(linesOf(at.model.requests.at(-1))).toEqual(['user: c']);
    await at.session.patch({ historyTurns: 10 });
    await say(at.session, 'd');
    expect(linesOf(at.model.requests.at(-1))).toHaveLength(7);
  });

  test('a pinned message stays, and a compaction covers the turns that were not sent', async () => {
    const answers = Array.from({ length: 8 }, (_, i) => `${i} ${'about it '.repeat(200)}`);
    const compaction = { background: false, cut: { kind: 'keep-turns', turns: 1 } } as const;
    const script = scripted([...answers, 'the gist']);
    await using at = await openEngine(script, { compaction, session: { historyTurns: 2 } });
    await say(at.session, 'remember 42');
    const [first] = await messagesOf(at.session);
    await at.session.pin(first?.id ?? '');
    for (let i = 1; i < 8; i++) await say(at.session, `q${i}`);
    const users = linesOf(at.model.requests.at(-1)).filter((line) => line.startsWith('user'));
    expect(users).toEqual(['user: remember 42', 'user: q6', 'user: q7']);
    expect(await at.session.compact()).toMatchObject({ coveredEntries: expect.any(Number) });
    expect(JSON.stringify(at.model.requests.at(-1))).toContain('q1');
  });

  test('the reported usage of a turn that is no longer sent is not counted', async () => {
    const long = 'word '.repeat(4000);
    const usage = (input: number) => usageOf({ input, output: 1 });
    const steps = [{ text: '1', usage: usage(4000) }, { text: '2', usage: usage(4010) }, '3'];
    await using at = await openEngine(scripted(steps), { session: { historyTurns: 2 } });
    for (const text of [long, 'b', 'c']) await say(at.session, text);
    const { calls } = await at.session.explain();
    expect(calls[0]?.tokens).toBeLessThan(1000);
  });

  test('by sender, else channel, else kind of chat, else for all', () => {
    const rules = {
      historyTurns: 1,
      historyTurnsByType: { direct: 2, group: 3 },
      historyTurnsByChannel: { telegram: 4 },
      historyTurnsBySender: { 'telegram:7': 5 },
    };
    const of = (sessionKey: string, settings = {}): number | undefined =>
      historyTurnsFor(rules, { sessionKey, settings });
    expect(of('agent:main:telegram:direct:7')).toBe(5);
    expect(of('agent:main:telegram:direct:8')).toBe(4);
    expect(of('agent:main:slack:direct:7')).toBe(2);
    expect(of('agent:main:slack:group:7')).toBe(3);
    expect(of('agent:main:main:thread:7')).toBe(1);
    expect(of('agent:main:subagent:7')).toBeUndefined();
    expect(of('agent:main:telegram:direct:7', { historyTurns: 9 })).toBe(9);
  });

  test('a limit of 0 is refused', async () => {
    await expect(openEngine(scripted([]), { session: { historyTurns: 0 } })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });

  test('as a function for custom loops', () => {
    const user = (content: string) => ({ role: 'user', content });
    const answer = { role: 'assistant', content: 'x' };
    const list = [user('a'), answer, user('b'), answer, user('c')];
    expect(limitHistoryTurns(list, 2)).toEqual(list.slice(2));
    expect(limitHistoryTurns(list)).toEqual(list);
    expect(limitHistoryTurns(list, 0)).toEqual(list);
    const headed = [answer, ...list];
    expect(limitHistoryTurns(headed, 3)).toEqual(headed);
    expect(limitHistoryTurns(headed, 2)).toEqual(list.slice(2));
  });
});
