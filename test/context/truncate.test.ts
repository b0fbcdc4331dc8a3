import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { estimateTextTokens, planToolTruncation, truncateToolText } from '../../src/exports/context.ts';

const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 20250101);
const NOTICE = /\n\[\.\.\. [\d,]+ characters left out \.\.\.\]\n/;

describe('a tool result that is too long', () => {
  test('keeps its head and its tail, and says how much is gone', () => {
    const text = `first line\n${'middle '.repeat(50_000)}\nlast line`;
    const cut = truncateToolText(text, { maxChars: 3000 });
    expect(cut.length).toBeLessThanOrEqual(3000);
    expect(cut.length).toBeGreaterThan(2900);
    expect(cut.startsWith('first line')).toBe(true);
    expect(cut.endsWith('last line')).toBe(true);
    const gone = /\[\.\.\. ([\d,]+) characters/.exec(cut)?.[1]?.replaceAll(',', '');
    expect(Number(gone)).toBe(text.length - cut.replace(NOTICE, '').length);
  });

  test('fits the tokens it was given, whatever it is made of, and uses most of them', () => {
    const texts = [
      'word '.repeat(60_000),
      '汉字和更多的汉字'.repeat(9000),
      `${'é😀'.repeat(9000)}${'x '.repeat(50_000)}`,
    ];
    for (const text of texts) {
      for (const maxTokens of [100, 1000, 16_000]) {
        const cut = truncateToolText(text, { maxTokens });
        expect(estimateTextTokens(cut)).toBeLessThanOrEqual(maxTokens);
        expect(estimateTextTokens(cut)).toBeGreaterThan(maxTokens * 0.5);
      }
    }
  });

  test('comes back as it is when it fits, and cutting it again changes nothing', () => {
    expect(truncateToolText('short', { maxChars: 5 })).toBe('short');
    expect(truncateToolText('short', { maxTokens: 2 })).toBe('short');
    const once = truncateToolText('some text '.repeat(5000), { maxTokens: 700 });
    expect(truncateToolText(once, { maxTokens: 700 })).toBe(once);
  });

  test('is never cut inside a character, and no limit is too small to be answered', () => {
    const text = fc.array(fc.constantFrom('a', '\n', '😀', '𝒜', '汉'), { minLength: 80, maxLength: 300 });
    fc.assert(
      fc.property(text, fc.nat(120), (characters, limit) => {
        const whole = characters.join('');
        for (const cut of [
          truncateToolText(whole, { maxChars: limit }),
          truncateToolText(whole, { maxTokens: limit }),
        ]) {
          expect(cut.isWellFormed()).toBe(true);
          if (cut !== whole) expect(cut).toMatch(NOTICE);
          expect(cut.length).toBeLessThanOrEqual(whole.length + 45);
        }
        const cut = truncateToolText(whole, { maxChars: limit });
        if (limit >= 50) expect(cut.length).toBeLessThanOrEqual(limit);
      }),
      { seed: SEED },
    );
  });
});

describe('which results are cut', () => {
  const results = (...tokens: number[]) => tokens.map((count, i) => ({ id: `r${i}`, tokens: count }));

  test('a giant goes first, however new it is', () => {
    expect(planToolTruncation(results(900, 3000, 75_000, 1200), 10_000)).toEqual({
      cuts: [{ id: 'r2', maxTokens: 16_000 }],
      savedTokens: 59_000,
      enough: true,
    });
  });

  test('of equal ones the newest is kept longest', () => {
    const { cuts } = planToolTruncation(results(5000, 5000, 5000, 5000), 2500);
    expect(cuts).toEqual([
      { id: 'r0', maxTokens: 4000 },
      { id: 'r1', maxTokens: 4000 },
      { id: 'r2', maxTokens: 4000 },
    ]);
  });

  test('what is small stays, and the plan says when that is not enough', () => {
    const plan = planToolTruncation(results(400, 800, 500), 5000);
    expect(plan).toEqual({ cuts: [{ id: 'r1', maxTokens: 500 }], savedTokens: 300, enough: false });
    expect(planToolTruncation(results(9000), 0)).toEqual({ cuts: [], savedTokens: 0, enough: true });
  });

  test('a plan saves what it says and never spares an older result more than a newer one', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40_000), { maxLength: 30 }), fc.nat(200_000), (tokens, excess) => {
        const list = results(...tokens);
        const { cuts, savedTokens, enough } = planToolTruncation(list, excess);
        const after = new Map(cuts.map(({ id, maxTokens }) => [id, maxTokens]));
        const saved = list.reduce((sum, { id, tokens: was }) => sum + was - (after.get(id) ?? was), 0);
        expect(saved).toBe(savedTokens);
        expect(enough).toBe(savedTokens >= excess);
        if (!enough)
          for (const { id, tokens: was } of list) expect(after.get(id) ?? was).toBeLessThanOrEqual(500);
        // What a newer one was cut to, every older one fits as well.
        for (const [i, { id, tokens: was }] of list.entries()) {
          for (const newer of list.slice(i + 1)) {
            const cut = after.get(newer.id);
            if (cut !== undefined) expect(after.get(id) ?? was).toBeLessThanOrEqual(cut);
          }
        }
      }),
      { seed: SEED, numRuns: 500 },
    );
  });
});
