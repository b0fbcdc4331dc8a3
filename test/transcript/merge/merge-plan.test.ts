// @module-tag scaled
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTranscript, rebuildHistory } from '../../../src/exports/transcript.ts';
import { type Entry, RepriseError } from '../../../src/index.ts';
import { planMerge } from '../../../src/transcript/merge/merge-plan.ts';
import { readMessages } from '../../../src/transcript/merge/read-messages.ts';
import { EntryList } from '../../support/engine/entries.ts';
import { CLASSES, histories, historyBytes } from '../../support/engine/histories.ts';

const RUNS = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 300);
const SEED = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 20250101);
const FORMATS = ['anthropic', 'openai', 'ai-sdk'] as const;

function read(bytes: Buffer): readonly Entry[] {
  try {
    return parseTranscript(bytes).entries;
  } catch (error) {
    if (error instanceof RepriseError && error.code === 'INVALID_INPUT') return [];
    throw error;
  }
}

describe('any stored history', () => {
  test('that was rebuilt for a model is found in its session, and nothing is added', () => {
    const met = new Map<string, number>(CLASSES.map((name) => [name, 0]));
    let runs = 0;
    fc.assert(
      fc.property(histories, fc.nat(3), (history, dropped) => {
        const entries = read(historyBytes(history));
        runs++;
        for (const name of history.classes) met.set(name, (met.get(name) ?? 0) + 1);
        for (const format of FORMATS) {
          const whole = rebuildHistory(entries, { format });
          const messages = readMessages(whole, format);
          expect(planMerge(entries, messages).messages, format).toEqual([]);
          // A history that lacks its newest messages is known too.
          const shorter = readMessages(whole.slice(0, -1 - dropped), format);
          expect(planMerge(entries, shorter).messages, format).toEqual([]);
        }
      }),
      { numRuns: RUNS, seed: SEED },
    );
    for (const [name, count] of met) expect(count / runs, name).toBeGreaterThan(0.02);
  });
});

test('an empty session takes a whole history', () => {
  const history = readMessages([{ role: 'user', content: 'hello' }], 'openai');
  expect(planMerge([], history)).toEqual({ at: null, isHere: true, messages: history });
  expect(planMerge(new EntryList().entries, [])).toEqual({ at: null, isHere: true, messages: [] });
});
