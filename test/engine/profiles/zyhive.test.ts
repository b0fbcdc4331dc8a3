import { describe, expect, test } from 'vitest';
import { createOfflineModel } from '../../../src/models/offline/offline-model.ts';
import { say, scripted } from '../../support/engine/engine.ts';
import { compactionsOf, linesOf, messagesOf, prose, tempHome } from '../../support/engine/profile-home.ts';

const profile = 'zyhive';

describe('zyhive', () => {
  test('sessions are called ses-<time>, also two that begin in the same millisecond', async () => {
    await using home = await tempHome('jsonl');
    const clock = (): Date => new Date(1_708_300_000_000);
    await using at = await home.open(scripted([]), { profile, clock });
    const other = await at.reprise.session('agent:xiuliu:main');
    expect([at.session.id, other.id]).toEqual(['ses-1708300000000', 'ses-1708300000001']);
  });

  /** 25 turns of 3,200 tokens by its own count: exactly its threshold. */
  const full = Array.from({ length: 25 }, (_, i) => `${String(i).padStart(3)} ${prose(6396)}`);

  test('above 80,000 tokens the last 20 turns stay, after a [system] prefix, also after a restart', async () => {
    await using home = await tempHome('jsonl');
    let kept = '';
    {
      await using at = await home.open(scripted([...full, 'no', 'the gist', 'yes']), { profile });
      for (const text of full) await at.session.send(text).result;
      expect((await at.session.context()).tokens).toBe(80_000);
      // No token more: nothing happens.
      expect((await say(at.session, 'abc')).map(({ type }) => type)).not.toContain('compaction');
      const events = await say(at.session, 'four');
      // 27 turns, the one that runs included.
      expect(events.find(({ type }) => type === 'compaction')).toMatchObject({
        reason: 'trigger',
        coveredEntries: 14,
      });
      const [compaction] = await compactionsOf(at.session);
      kept = String(compaction?.['firstKeptEntryId']);
      const stored = await messagesOf(at.session);
      expect(stored.findIndex(({ id }) => id === kept)).toBe(14);
      expect(Number(compaction?.['tokensAfter'])).toBeLessThan(Number(compaction?.['tokensBefore']));
      at.model.assertDone();
    }
    await using at = await home.open(scripted(['good']), { profile });
    await at.session.send('still there?').result;
    const asked = linesOf(at.model.requests[0]);
    expect(asked[0]).toMatch(/^user: \[system\] the gist/);
    // The summary and the first kept message are both the user's, so they share one turn.
    expect(asked[0]).toContain('\n\n  7 the river');
    expect(asked.filter((line) => line.startsWith('user: '))).toHaveLength(20 + 1);
  });

  test('it compacts after a turn, while the conversation continues', async () => {
    await using home = await tempHome('jsonl');
    await using at = await home.open(scripted([...full, prose(6400), 'the gist']), {
      profile,
      compaction: { background: 0.99 },
    });
    for (const text of full) await at.session.send(text).result;
    expect(await compactionsOf(at.session)).toEqual([]);
    await at.session.send('abc').result;
    await at.reprise.idle();
    expect(await compactionsOf(at.session)).toMatchObject([
      { summary: expect.stringContaining('the gist'), details: { reason: 'background', coveredEntries: 12 } },
    ]);
  });

  test('its count is a quarter of the characters, yet a window is never overrun by Chinese', async () => {
    await using home = await tempHome('jsonl');
    await using at = await home.open(createOfflineModel({ contextWindow: 20_000 }), { profile });
    const seen: string[] = [];
    for (let i = 0; i < 30; i++) {
      const events = await say(at.session, '分析支付模块的并发问题'.repeat(60));
      seen.push(...events.map(({ type }) => type));
    }
    expect(seen).toContain('compaction');
    expect(seen).not.toContain('overflow');
    expect(seen).not.toContain('error');
    expect((await at.session.context()).tokens).toBeLessThan(20_000);
  });
});
