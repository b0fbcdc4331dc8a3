import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { estimateEntryTokens } from '../../../src/exports/context.ts';
import type { Model } from '../../../src/models/model.ts';
import { createScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { entriesOf, overflow, say, scripted } from '../../support/engine/engine.ts';
import {
  compactionsOf,
  type HomeOptions,
  linesOf,
  messagesOf,
  prose,
  tempHome,
} from '../../support/engine/profile-home.ts';
import { freshStore, importFrom, writeLayout } from '../../support/store/interop-home.ts';

const profile = 'clawdbot';

describe('clawdbot', () => {
  test('200,000 tokens if the model names no window; a window it names is its window', async () => {
    await using home = await tempHome('jsonl');
    {
      await using at = await home.open(createScriptedModel([]), { profile });
      expect((await at.session.context()).window).toMatchObject({ tokens: 200_000, source: 'default' });
    }
    await using at = await home.open(scripted([], 1_000_000), { profile });
    expect((await at.session.context()).window).toMatchObject({ tokens: 1_000_000, source: 'model' });
  });

  test('warns below 32,000 tokens and refuses below 16,000', async () => {
    await using home = await tempHome('jsonl');
    await using at = await home.open(scripted(['hello']), { profile });
    const guardAt = async (contextTokens: number): Promise<[boolean, boolean]> => {
      await at.session.patch({ contextTokens });
      const { shouldWarn, shouldBlock } = (await at.session.context()).window;
      return [shouldWarn, shouldBlock];
    };
    expect(await guardAt(32_000)).toEqual([false, false]);
    expect(await guardAt(31_999)).toEqual([true, false]);
    expect(await guardAt(16_000)).toEqual([true, false]);
    expect(await guardAt(15_999)).toEqual([true, true]);
    await expect(at.session.send('hi').result).rejects.toMatchObject({ code: 'CONTEXT_WINDOW_TOO_SMALL' });
  });

  test('what does not fit is compacted, and the turn continues', async () => {
    await using home = await tempHome('jsonl');
    const talk = Array.from({ length: 6 }, (_, i) => `answer ${i} ${prose(2000)}`);
    await using at = await home.open(scripted([...talk, overflow(), 'the gist', 'ok']), { profile });
    for (let i = 0; i < 6; i++) await at.session.send(`question ${i}`).result;
    const events = await say(at.session, 'go on');
    expect(events.find(({ type }) => type === 'compaction')).toMatchObject({ reason: 'overflow' });
    expect(events.at(-1)).toMatchObject({ type: 'done', text: 'ok' });
    at.model.assertDone();
  });

  test('a compaction keeps the newest half of the history by tokens, counts itself, and outlives a restart', async () => {
    await using home = await tempHome('jsonl');
    const talk = Array.from({ length: 12 }, (_, i) => `answer ${i} ${prose(200 * (i + 1))}`);
    {
      await using at = await home.open(scripted([...talk, 'the gist']), { profile });
      for (let i = 0; i < 12; i++) await at.session.send(`question ${i}`).result;
      expect(await at.session.compact()).toMatchObject({ reason: 'asked for' });
      const [compaction] = await compactionsOf(at.session);
      expect(compaction).toMatchObject({
        summary: expect.stringContaining('the gist'),
        firstKeptEntryId: expect.any(String),
        tokensBefore: expect.any(Number),
        tokensAfter: expect.any(Number),
      });
      const before = (await entriesOf(at.session)).filter(({ type }) => type === 'message');
      const first = before.findIndex(({ id }) => id === compaction?.['firstKeptEntryId']);
      const tokens = before.map((entry) => estimateEntryTokens(entry));
      const sum = (from: number): number => tokens.slice(from).reduce((all, one) => all + one, 0);
      expect(sum(first + 2)).toBeLessThanOrEqual(sum(0) / 2);
      expect(sum(first - 2)).toBeGreaterThan(sum(0) / 2);
      expect((await at.session.record()).settings).toMatchObject({ compactionCount: 1 });
      at.model.assertDone();
    }
    await using at = await home.open(scripted(['yes']), { profile });
    await at.session.send('still there?').result;
    expect(linesOf(at.model.requests[0])[0]).toContain('<summary>\nthe gist');
    // Nothing is deleted.
    expect((await messagesOf(at.session)).length).toBe(26);
  });

  test('counts the last turn under the names of a SessionEntry, and a fork begins without counts', async () => {
    await using home = await tempHome('jsonl');
    const usage = { input: 100, cacheRead: 900, cacheWrite: 0, output: 25, totalTokens: 1025 };
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    const hang = () => {
      asked();
      return { wait: new Promise(() => undefined) };
    };
    await using at = await home.open(scripted([{ text: 'hello', usage }, hang, 'again']), { profile });
    const settings = async (session = at.session) => (await session.record()).settings;
    expect(await settings()).toEqual({});

    await at.session.send('hi').result;
    const counts = { inputTokens: 1000, outputTokens: 25, totalTokens: 1025, systemSent: true };
    expect(await settings()).toEqual({ ...counts, abortedLastRun: false });

    const { result } = at.session.send('and now?');
    await isAsked;
    await at.session.stop();
    await expect(result).rejects.toMatchObject({ code: 'ABORTED' });
    expect(await settings()).toEqual({ ...counts, abortedLastRun: true });

    const fork = await at.reprise.session({ id: (await at.session.fork()).id });
    expect(Object.keys(await settings(fork))).toEqual(['forkedFrom']);

    // This answer reports no usage: the counts are unknown then, not those of an earlier turn.
    await at.session.send('once more').result;
    expect(await settings()).toEqual({ systemSent: true, abortedLastRun: false });
  });

  test('an exported SessionEntry has its own fields and types only', async () => {
    await using home = await tempHome('jsonl');
    await using at = await home.open(scripted(['hello']), { profile });
    await at.session.patch({
      ...{ historyTurns: 3, profile, systemPrompt: 'Be brief.', contextTokens: 50_000, 'x-own': 1 },
      ...{ memoryFlushAt: '2026-01-02T03:04:05.000Z', memoryFlushCompactionCount: 0, thinkingLevel: 'low' },
    });
    await at.session.send('hi').result;
    const folder = await writeLayout(at.reprise.store, 'clawdbot');
    const index = await readFile(join(folder, 'agents/main/sessions/sessions.json'), 'utf8');
    expect(JSON.parse(index)).toEqual({
      'agent:main:main': {
        ...{ sessionId: at.session.id, sessionFile: `${at.session.id}.jsonl` },
        ...{ systemSent: true, abortedLastRun: false, thinkingLevel: 'low', memoryFlushCompactionCount: 0 },
        memoryFlushAt: Date.parse('2026-01-02T03:04:05.000Z'),
        updatedAt: expect.any(Number),
        // The size of the context, not the cap of 50,000 that was set.
        contextTokens: (await at.session.record()).tokenEstimate,
      },
    });
  });

  test("the window is the learned one, the model's or 200,000 tokens, and the lowest limit applies", async () => {
    await using home = await tempHome('jsonl');
    const window = async (options: HomeOptions, model: Model = createScriptedModel([])) => {
      await using at = await home.open(model, { profile, ...options });
      const { tokens, source } = (await at.session.context()).window;
      return [source, tokens];
    };
    const model = scripted([], 100_000);
    expect(await window({})).toEqual(['default', 200_000]);
    expect(await window({}, model)).toEqual(['model', 100_000]);
    // `contextTokens` is an upper limit: it replaces no larger window, and a larger limit changes nothing.
    expect(await window({ agents: { defaults: { contextTokens: 300_000 } } })).toEqual(['default', 200_000]);
    const agents = { defaults: { contextTokens: 90_000 } };
    expect(await window({ agents }, model)).toEqual(['option', 90_000]);
    const own = { ...agents, main: { contextTokens: 80_000 } };
    expect(await window({ agents: own }, model)).toEqual(['option', 80_000]);
    expect(await window({ agents: own, contextTokens: 70_000 }, model)).toEqual(['option', 70_000]);
    {
      await using at = await home.open(scripted([overflow(60_000, 61_000)], 100_000), { profile });
      await at.session.patch({ contextTokens: 65_000 });
      expect((await at.session.context()).window).toMatchObject({ source: 'option', tokens: 65_000 });
      await expect(at.session.send(prose(1000)).result).rejects.toThrow('too long');
      expect((await at.session.context()).window).toMatchObject({ source: 'learned', tokens: 60_000 });
    }
  });

  test('after a compaction /context, the record and the exported SessionEntry have its tokensAfter', async () => {
    await using home = await tempHome('jsonl');
    const talk = Array.from({ length: 8 }, (_, i) => `answer ${i} ${prose(2000)}`);
    await using at = await home.open(scripted([...talk, 'the gist']), {
      profile,
      agents: { main: { systemPrompt: prose(4000) } },
    });
    for (let i = 0; i < 8; i++) await at.session.send(`question ${i}`).result;
    await at.session.patch({ contextTokens: 150_000 });
    const { tokens: before } = await at.session.context();
    const compacted = await at.session.compact();
    const { tokens: after } = await at.session.context();
    expect(compacted).toMatchObject({ tokensBefore: before, tokensAfter: after });
    expect(after).toBeLessThan(before);
    expect((await compactionsOf(at.session))[0]).toMatchObject({ tokensBefore: before, tokensAfter: after });
    expect((await at.session.record()).tokenEstimate).toBe(after);

    const folder = await writeLayout(at.reprise.store, 'clawdbot');
    const index = await readFile(join(folder, 'agents/main/sessions/sessions.json'), 'utf8');
    // The cap on the window that was set here is no size of a context.
    expect(JSON.parse(index)).toEqual({
      'agent:main:main': {
        sessionId: at.session.id,
        sessionFile: `${at.session.id}.jsonl`,
        updatedAt: expect.any(Number),
        systemSent: true,
        abortedLastRun: false,
        compactionCount: 1,
        contextTokens: after,
      },
    });
    const copy = await freshStore();
    await importFrom(copy, folder, { acceptSettings: true });
    const { settings } = await copy.get(at.session.id);
    expect(settings).toMatchObject({ contextTokens: 150_000, compactionCount: 1 });
  });
});
