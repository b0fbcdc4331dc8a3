import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addGrams, queryGrams } from '../../../src/store/postgres/search/search-grams.ts';

fc.configureGlobal({ seed: Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7) });

const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...'abc _.=>(){}'),
    fc.constantFrom(...'会议日程のテスト한국'),
    fc.constantFrom('😀', '👩‍👧', 'e\u0301', '\0', '\ufffd'),
  ),
  minLength: 1,
  maxLength: 60,
});

test('a text that holds a word has all pieces the word is looked for by, in any script', () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), text, text, (words, before, after) => {
      const grams = new Set<number>();
      addGrams(grams, before + words.join(after) + after);
      expect(queryGrams(words).filter((gram) => !grams.has(gram))).toEqual([]);
    }),
  );
});

test('a text in slices that overlap by two has the pieces of the whole', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      const [whole, sliced] = [new Set<number>(), new Set<number>()];
      addGrams(whole, a + b);
      addGrams(sliced, (a + b).slice(0, a.length + 2));
      addGrams(sliced, b);
      expect([...sliced].sort()).toEqual([...whole].sort());
    }),
  );
});

test('what lacks a word is ruled out nearly always, words of two characters included', () => {
  const grams = new Set<number>();
  addGrams(grams, '明天的会议改到下午, see const after = headers.get("retry-after")');
  const isPossible = (word: string): boolean => queryGrams([word]).every((gram) => grams.has(gram));
  for (const word of ['会议', '议', 'retry-after', 'get("', '"re', ' = '])
    expect([word, isPossible(word)]).toEqual([word, true]);
  for (const word of ['会明', '周', '议会', 'retries', '=>', '會議', '😀'])
    expect([word, isPossible(word)]).toEqual([word, false]);
});

test('a query of any length asks for a bounded number of pieces', () => {
  const words = ['x'.repeat(5000), ...Array.from({ length: 500 }, (_, i) => `w${i}`)];
  expect(queryGrams(words).length).toBe(64);
});
