import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { estimateTextTokens } from '../../src/exports/context.ts';
import { HOSTILE } from './hostile.ts';
import { SAMPLES } from './samples.ts';

const RUNS = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 1000);
const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 20250101);

describe('the token estimate', () => {
  test.each(['prose', 'code', 'chinese', 'japanese', 'json'] as const)('is right about %s', (kind) => {
    const samples = SAMPLES.filter((sample) => sample.kind === kind);
    expect(samples.length).toBeGreaterThanOrEqual(6);
    const ratios = samples.map(({ text, o200k }) => estimateTextTokens(text) / o200k);
    for (const [i, ratio] of ratios.entries()) {
      expect(ratio, samples[i]?.name).toBeGreaterThan(0.85);
      expect(ratio, samples[i]?.name).toBeLessThan(1.2);
    }
    // One short text may lie outside, the kind may not.
    expect(ratios.filter((ratio) => ratio > 1.15).length).toBeLessThanOrEqual(1);
    const all = samples.map(({ text }) => text).join('\n');
    const counted = samples.reduce((sum, { o200k }) => sum + o200k, 0);
    expect(estimateTextTokens(all) / counted).toBeGreaterThan(0.92);
    expect(estimateTextTokens(all) / counted).toBeLessThan(1.1);
  });

  test.each(HOSTILE)('is never below half of the count on hostile text: $name', ({ text, o200k, cl100k }) => {
    const estimate = estimateTextTokens(text);
    expect(estimate / o200k).toBeGreaterThan(0.5);
    // The greedier tokenizer of an older family; calibration does the rest.
    expect(estimate / Math.max(o200k, cl100k)).toBeGreaterThan(0.4);
  });

  test('does not take a drawn line, an indent or a long number for a text', () => {
    expect(estimateTextTokens('-'.repeat(400))).toBeLessThan(25);
    expect(estimateTextTokens(`x${' '.repeat(400)}y`)).toBeLessThan(15);
    expect(estimateTextTokens('7'.repeat(300))).toBe(100);
  });

  const unit = fc.oneof(
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    fc.constantFrom(...'aAeE09 \n\t.,"{}_-你の한яب\ud83d\ude00\u200d'),
  );
  const anyText = fc.array(unit, { maxLength: 120 }).map((units) => units.join(''));

  test('is a whole number of at least zero for any units, lone surrogates too, and zero only for nothing', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const tokens = estimateTextTokens(text);
        expect(Number.isSafeInteger(tokens)).toBe(true);
        if (text === '') expect(tokens).toBe(0);
        else expect(tokens).toBeGreaterThan(0);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  test('never falls when a text grows, and a text costs what its parts cost', () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        const whole = estimateTextTokens(a + b);
        const parts = estimateTextTokens(a) + estimateTextTokens(b);
        expect(whole).toBeGreaterThanOrEqual(estimateTextTokens(a));
        expect(Math.abs(whole - parts)).toBeLessThanOrEqual(16);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  test('adds up over the pieces of a long text', () => {
    const text = SAMPLES.map((sample) => sample.text).join('\n\n');
    let sum = 0;
    for (let i = 0; i < text.length; i += 500) sum += estimateTextTokens(text.slice(i, i + 500));
    expect(sum / estimateTextTokens(text)).toBeGreaterThan(0.98);
    expect(sum / estimateTextTokens(text)).toBeLessThan(1.03);
  });
});
