import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTextFilter } from '../../../src/store/sqlite/read/text-filter.ts';

const holds = (text: string, words: string): boolean => text.toLowerCase().includes(words.toLowerCase());
const bytesOf = (text: string): Buffer => Buffer.from(`{"message":{"content":${JSON.stringify(text)}}}\n`);
/** As a careful tool writes it, and as Python does by default. */
const escaped = (text: string): Buffer => {
  const json = JSON.stringify(text).replace(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return Buffer.from(`{"content":${json.replaceAll('/', '\\/')}}`);
};

describe('a filter never says no where a text holds the words', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'k',
      'K',
      '\u212a',
      'i',
      'İ',
      'I',
      'ß',
      'ẞ',
      'Σ',
      'ς',
      'é',
      '会议',
      '明',
      '😀',
      '"',
      '\\',
      '/',
      '\n',
      '\u001b',
      '\\u',
    ),
    fc.string({ unit: 'binary', maxLength: 3 }),
    fc.string({ maxLength: 4 }),
  );
  const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(''));

  test('for any words in any text, in either spelling', () => {
    fc.assert(
      fc.property(text, text, text, fc.boolean(), (before, words, after, upper) => {
        const whole = before + (upper ? words.toUpperCase() : words) + after;
        fc.pre(words !== '' && holds(whole, words));
        const filter = createTextFilter(words);
        expect(filter(bytesOf(whole))).toBe(true);
        expect(filter(escaped(whole))).toBe(true);
      }),
      { numRuns: 5000, seed: 7 },
    );
  });

  test('for every character and what it is in lower case', () => {
    for (let code = 0; code <= 0x10ffff; code++) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      const character = String.fromCodePoint(code);
      for (const lower of character.toLowerCase()) {
        if (!createTextFilter(lower)(bytesOf(character))) expect.fail(`${code.toString(16)} as ${lower}`);
      }
    }
  });
});

test('a filter says no to nearly everything that does not hold the words', () => {
  const bytes = Buffer.concat(
    Array.from({ length: 100 }, (_, i) => bytesOf(`line ${i}\t今天 of a \u001b[1m chat`)),
  );
  expect(createTextFilter('needle')(bytes)).toBe(false);
  expect(createTextFilter('会议')(bytes)).toBe(false);
  expect(createTextFilter('Chat 会议')(bytes)).toBe(false);
  expect(createTextFilter('LINE 42')(bytes)).toBe(true);
});
