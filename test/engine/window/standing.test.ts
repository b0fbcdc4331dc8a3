import { describe, expect, test } from 'vitest';
import { standingOf } from '../../../src/engine/window/standing.ts';
import { KEY } from '../../support/engine/engine.ts';
import { ask, idOf, openFamily, replying } from '../../support/engine/family.ts';

const cut = { kind: 'keep-messages', messages: 2 } as const;

describe('a summary', () => {
  test('lists running children and the number of queued messages, and forgets those that have ended', async () => {
    const { promise: go, resolve } = Promise.withResolvers<void>();
    await using at = await openFamily(
      replying(({ text, request }) => {
        if (request.cache === 'off') return 'THE GIST';
        return text === 'dig\nhere' ? { wait: go, text: 'dug' } : `heard ${text.slice(0, 20)}`;
      }),
      { compaction: { background: false, cut } },
    );
    for (let i = 0; i < 6; i++) await ask(at.reprise, `message ${i} ${'so '.repeat(80)}`);
    const { id } = await at.reprise.session(KEY);
    await at.reprise.spawn({ id }, { task: 'dig\nhere', label: 'digger' });
    await expect.poll(() => at.model.requests.some(({ system }) => system?.includes('subagent'))).toBe(true);
    const session = await at.reprise.session(KEY);
    await session.compact();
    const summary = async (): Promise<string> => {
      const { entries } = await session.history({ limit: 1000 });
      return String(
        (
          entries.map(({ entry }) => entry).findLast(({ type }) => type === 'compaction') as {
            summary?: string;
          }
        ).summary,
      );
    };
    expect(await summary()).toMatch(
      /THE GIST[\s\S]*## Still going on\n- The child agent:main:subagent:\S+ \("digger"\) is running: dig here$/,
    );
    resolve();
    await at.reprise.idle();
    for (let i = 0; i < 4; i++) await ask(at.reprise, `more ${i} ${'and '.repeat(80)}`);
    await session.compact();
    expect(await summary()).not.toContain('Still going on');
    const asked = at.model.requests.filter(({ cache }) => cache === 'off').at(-1);
    expect(JSON.stringify(asked)).toContain('THE GIST');
    expect(JSON.stringify(asked)).not.toContain('is running');
  });

  test('lists them too if a turn had to compact to continue', async () => {
    const { promise: go, resolve } = Promise.withResolvers<void>();
    await using at = await openFamily(
      replying(({ text, request }) => {
        if (request.cache === 'off') return 'THE GIST';
        return text === 'dig' ? { wait: go, text: 'dug' } : 'heard';
      }),
      { contextTokens: 16_000 },
    );
    const session = await at.reprise.session(KEY);
    await at.reprise.spawn(session, { task: 'dig' });
    for (let i = 0; i < 8; i++) await session.send(`message ${i} ${'so '.repeat(2500)}`).result;
    const { entries } = await session.history({ limit: 1000 });
    const summaries = entries.flatMap(({ entry }) =>
      entry.type === 'compaction' ? [String((entry as { summary?: unknown }).summary)] : [],
    );
    expect(summaries.length).toBeGreaterThan(0);
    for (const summary of summaries)
      expect(summary).toMatch(/Still going on\n- The child \S+ (is running|waits to run): dig$/);
    resolve();
  });

  test('counts queued messages', async () => {
    await using at = await openFamily(
      replying(() => 'yes'),
      { run: false },
    );
    await ask(at.reprise, 'hello');
    const id = await idOf(at.store);
    expect(await standingOf(at.store, id)).toEqual([]);
    for (const text of ['a', 'b'])
      await at.store.inbox.receive({ sessionKey: KEY, source: 'test', body: { text } });
    expect(await standingOf(at.store, id)).toEqual(['2 messages wait.']);
  });
});
