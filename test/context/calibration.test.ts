import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Calibration,
  calibrate,
  calibratedTokens,
  estimateEntryTokens,
  lastUsage,
  measureContext,
  overheadTokens,
  SAFETY_MARGIN,
} from '../../src/exports/context.ts';
import { selectContext } from '../../src/exports/transcript.ts';
import { EntryList } from '../support/engine/entries.ts';

function learn(reports: readonly number[], from?: Calibration): Calibration | undefined {
  return reports.reduce<Calibration | undefined>(
    (known, factor) => calibrate(known, { estimated: 10_000, reported: 10_000 * factor }),
    from,
  );
}

describe('calibration', () => {
  test('a model without reported usage gets the margin', () => {
    expect(SAFETY_MARGIN).toBe(1.2);
    expect(calibratedTokens(1000)).toBe(1200);
  });

  test('after a few reports the estimate is what the model counts, without a margin', () => {
    const known = learn([1.4, 1.38, 1.42, 1.4]);
    const counted = overheadTokens(known) + calibratedTokens(10_000, known);
    expect(counted).toBeGreaterThan(13_800);
    expect(counted).toBeLessThan(14_200);
  });

  test('one absurd report does little, and a model that changed is calibrated again', () => {
    const steady = learn(Array.from({ length: 20 }, () => 1.1));
    expect(learn([30], steady)?.factor).toBeLessThan(1.16);
    expect(learn([0.01], steady)?.factor).toBeGreaterThan(1.05);
    const anew = learn(
      Array.from({ length: 60 }, () => 1.6),
      steady,
    );
    expect((overheadTokens(anew) + calibratedTokens(10_000, anew)) / 10_000).toBeCloseTo(1.6, 1);
  });

  test('an overhead that is learned from small requests is added to large ones, not multiplied', () => {
    let known: Calibration | undefined;
    for (const estimated of [300, 320, 900, 1500, 2600])
      known = calibrate(known, { estimated, reported: estimated + 1800 });
    expect(known?.factor).toBeCloseTo(1, 1);
    expect(overheadTokens(known)).toBeGreaterThan(1600);
    // Much more than was ever seen: with the margin, and nothing beyond it.
    expect(calibratedTokens(100_000, known)).toBeLessThan(100_000 * SAFETY_MARGIN * 1.1);
  });

  test('overhead and factor are separated in any order of sizes', () => {
    const sizes = fc.array(fc.integer({ min: 300, max: 150_000 }), { minLength: 8, maxLength: 40 });
    fc.assert(
      fc.property(
        fc.double({ min: 0.8, max: 1.6, noNaN: true }),
        fc.integer({ min: 0, max: 20_000 }),
        sizes,
        (factor, overhead, list) => {
          fc.pre(list.filter((size) => size < Math.max(...list) / 4).length >= 3);
          const learned = list.reduce<Calibration | undefined>(
            (known, estimated) => calibrate(known, { estimated, reported: overhead + factor * estimated }),
            undefined,
          );
          for (const estimated of [...list, 3 * Math.max(...list)]) {
            const counted = overheadTokens(learned) + calibratedTokens(estimated, learned);
            const real = overhead + factor * estimated;
            expect(Math.abs(counted - real)).toBeLessThan(0.2 * real + 1000);
          }
        },
      ),
      { seed: 20250101 },
    );
  });

  test('nonsense teaches nothing', () => {
    const known = learn([1.3, 1.3, 1.3]);
    for (const reported of [0, -5, Number.NaN, Number.POSITIVE_INFINITY, 12]) {
      expect(calibrate(known, { estimated: 10_000, reported })).toEqual(known);
    }
    expect(calibrate(known, { estimated: 0, reported: 10_000 })).toEqual(known);
    expect(calibrate(undefined, { estimated: 20, reported: 400 })).toEqual({ factor: 1, samples: 0 });
  });

  test('it can be kept as JSON, and a damaged one counts as none', () => {
    const known = learn([1.3, 1.2, 1.25]);
    expect(JSON.parse(JSON.stringify(known))).toEqual(known);
    for (const factor of [Number.NaN, 0, -1])
      expect(calibratedTokens(1000, { factor, samples: 9 })).toBe(1200);
    expect(calibratedTokens(1000, { factor: 99, samples: 9 })).toBe(3000);
  });

  test('the factor stays within its bounds whatever is reported', () => {
    const reports = fc.array(
      fc.record({ estimated: fc.double({ noNaN: false }), reported: fc.double({ noNaN: false }) }),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(reports, (list) => {
        let known: Calibration | undefined;
        for (const report of list) {
          known = calibrate(known, report);
          expect(known.factor).toBeGreaterThanOrEqual(0.5);
          expect(known.factor).toBeLessThanOrEqual(3);
        }
      }),
      { seed: 20250101 },
    );
  });
});

describe('what the context holds', () => {
  const model = { provider: 'p', model: 'm' };
  const usage = { input: 900, output: 50, cacheRead: 4000, cacheWrite: 50, totalTokens: 5000 };
  const exact: Calibration = { factor: 1, samples: 10 };

  function conversation(): EntryList {
    const list = new EntryList();
    list.user('first question '.repeat(100));
    list.assistant(['answer'], { ...model, usage });
    list.user('and then? '.repeat(50));
    return list;
  }

  test('is the last reported usage plus an estimate of what came after it', () => {
    const list = conversation();
    const last = list.entries.at(-1);
    if (last === undefined) throw new Error('no entry');
    const selection = selectContext(list.entries);
    expect(lastUsage(selection)).toEqual({ index: 1, tokens: 5000 });
    expect(measureContext(selection, { fixedTokens: 777, calibration: exact })).toEqual({
      tokens: 5000 + estimateEntryTokens(last),
      reported: 5000,
      margin: 0,
    });
  });

  test('is an estimate of everything where no usage is known', () => {
    const list = new EntryList();
    list.user('first question '.repeat(100));
    const selection = selectContext(list.entries);
    const { tokens, reported } = measureContext(selection, { fixedTokens: 777, calibration: exact });
    expect(reported).toBe(0);
    expect(tokens).toBe(777 + list.entries.reduce((sum, entry) => sum + estimateEntryTokens(entry), 0));
    expect(measureContext(selection, { fixedTokens: 777 }).tokens).toBe(Math.ceil(tokens * 1.2));
  });

  test.each([
    ['a broken turn', { ...model, usage, stopReason: 'error' }],
    ['an aborted turn', { ...model, usage, stopReason: 'aborted' }],
    ['an answer without usage', model],
    ['usage of nothing', { ...model, usage: { ...usage, input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }],
    ['usage that is no number', { ...model, usage: { input: 'many' } }],
  ])('%s is passed over for the usage before it', (_, fields) => {
    const list = conversation();
    list.assistant(['…'], fields);
    expect(lastUsage(selectContext(list.entries))).toEqual({ index: 1, tokens: 5000 });
  });

  test('usage of another model, or from before a compaction or beside an edit, is not believed', () => {
    const changed = conversation();
    changed.add('model_change', { provider: 'p', modelId: 'other' });
    expect(lastUsage(selectContext(changed.entries))).toBeUndefined();

    const compacted = conversation();
    const kept = compacted.entries[1]?.id;
    compacted.add('compaction', { summary: 'so far', firstKeptEntryId: kept, tokensBefore: 5000 });
    expect(selectContext(compacted.entries).entries.length).toBe(2);
    expect(lastUsage(selectContext(compacted.entries))).toBeUndefined();
    const measured = (summary: string): number => {
      const list = conversation();
      list.add('compaction', { summary, firstKeptEntryId: kept, tokensBefore: 5000 });
      return measureContext(selectContext(list.entries), { calibration: exact }).tokens;
    };
    expect(measured('so far')).toBeLessThan(500);
    expect(measured('so far '.repeat(1000))).toBeGreaterThan(1500);
    compacted.user('go on');
    expect(lastUsage(selectContext(compacted.entries))).toBeUndefined();
    compacted.assistant(['done'], { ...model, usage });
    expect(lastUsage(selectContext(compacted.entries))?.tokens).toBe(5000);

    const edited = conversation();
    edited.add('context_edit', { targetId: edited.entries[0]?.id, replacement: { content: 'short' } });
    expect(lastUsage(selectContext(edited.entries))).toBeUndefined();
    expect(measureContext(selectContext(edited.entries)).reported).toBe(0);
  });
});
