import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, afterEach, expect, test } from 'vitest';
import { matchSearch } from '../../../../src/store/search/search-match.ts';
import { searchWords } from '../../../../src/store/search/search-query.ts';
import { SearchFile } from '../../../../src/store/sqlite/search/search-file.ts';
import { gramQuery } from '../../../../src/store/sqlite/search/search-grams.ts';
import { SearchIndex } from '../../../../src/store/sqlite/search/search-index.ts';

const seed = Number(process.env['REPRISE_PROPERTY_SEED'] ?? 7);
const numRuns = Number(process.env['REPRISE_PROPERTY_RUNS'] ?? 60);

const home = mkdtempSync(join(tmpdir(), 'reprise-index-'));
let file: SearchFile | undefined;
afterEach(() => file?.close());
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Many scripts, everything that is special to SQLite, to JSON or to UTF-16, and things that change with case. */
const piece = fc.oneof(
  fc.constantFrom(
    ...[
      'a',
      'ab',
      'Foo',
      'foo.bar(',
      '--flag',
      '#tag',
      'snake_case',
      '"',
      '""',
      "'",
      '\\',
      '*',
      'AND',
      '^',
      ' ',
    ],
    ...[
      '会议',
      '明',
      '猫',
      'さくら',
      '한국어',
      'привет',
      'ΣΑΣ',
      'ς',
      'İ',
      'ß',
      'ẞ',
      'é',
      'e\u0301',
      '\u212a',
    ],
    ...[
      '😀',
      '👩‍👩‍👧',
      '\ud83d',
      '\ude00',
      '\u0000',
      '\u0001',
      '\u001b[31m',
      '\ufffd',
      '\uffff',
      '\ue041',
      '\n',
      '\u3000',
    ],
  ),
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.string({ maxLength: 6 }),
);
const text = fc.array(piece, { minLength: 1, maxLength: 12 }).map((pieces) => pieces.join(''));

test('I-66 the index names every text that holds the words, in any script and with anything in it', () => {
  const opened = new SearchFile(join(home, 'search.db'), () => 'here');
  file = opened;
  const index = new SearchIndex(opened);
  fc.assert(
    fc.property(
      fc.array(text, { minLength: 1, maxLength: 8 }),
      // Mostly parts of stored texts, cut anywhere, so that there is something to find.
      fc.array(fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 9 }), fc.boolean()), { maxLength: 8 }),
      fc.array(text, { maxLength: 2 }),
      (texts, cuts, others) => {
        const parts = cuts.map(([of, from, length, isPhrase]) => {
          const whole = texts[of % texts.length] ?? '';
          const part = whole.slice(from % whole.length, (from % whole.length) + length);
          return isPhrase ? `"${part}"` : part;
        });
        opened.discard();
        opened.write(() => {
          const { number } = index.begin('s');
          for (const [i, said] of texts.entries()) index.add(number, i, { role: 'user', text: said, at: i });
        });
        for (const asked of [...parts, ...others, parts.join(' ')]) {
          const words = searchWords(asked);
          if (words.length === 0) continue;
          const holding = texts.flatMap((said, i) => (matchSearch(said, words) === undefined ? [] : [i]));
          const grams = gramQuery(words);
          const few = opened.use(() => index.few(grams, 100));
          const walked = opened.use(() => index.newest({ at: 100, doc: 0 }, 100));
          const found = (walked ?? []).filter(({ doc }) => opened.use(() => index.has(grams, doc)) === true);
          expect(opened.problem).toBeUndefined();
          for (const named of [few === 'many' ? [] : (few ?? []), found])
            expect(named.map(({ seq }) => seq)).toEqual(expect.arrayContaining(holding));
        }
      },
    ),
    { numRuns, seed, examples: [[['! \u0000', 'a'], [[0, 0, 3, true]], []]] },
  );
});

test('a text is judged by what stands in it, and what is shown of it is a part of it', () => {
  fc.assert(
    fc.property(text, fc.nat(), fc.integer({ min: 1, max: 9 }), (said, from, length) => {
      const words = searchWords(said.slice(from % said.length, (from % said.length) + length));
      const match = matchSearch(said, words);
      if (match === undefined) return;
      const { snippet, marks } = match;
      expect(snippet.isWellFormed()).toBe(true);
      let end = -1;
      for (const [begin, until] of marks) {
        expect(begin).toBeGreaterThan(end);
        expect(until).toBeGreaterThan(begin);
        expect(until).toBeLessThanOrEqual(snippet.length);
        end = until;
      }
    }),
    { numRuns: numRuns * 10, seed },
  );
});
