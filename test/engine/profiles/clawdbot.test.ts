import { describe, expect, test } from 'vitest';
import { estimateEntryTokens } from '../../../src/index.ts';
import { createScriptedModel } from '../../../src/models/scripted/scripted-model.ts';
import { entriesOf, overflow, say, scripted } from '../../support/engine.ts';
import { compactionsOf, linesOf, messagesOf, prose, tempHome } from '../../support/profile-home.ts';

const profile = 'clawdbot';

describe('clawdbot', () => {
  test('200,000 tokens where the model names no window of its own; a window it names is its window', async () => {
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

  test('what does not fit is compacted, and the turn goes on', async () => {
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
});
