import { LETTER_PAIRS } from './letter-pairs.ts';
import { DENSE, scriptTable, TRAIL } from './scripts.ts';

/**
 * Estimates the tokens of a text without a tokenizer, in one pass over its code units that adds up where tokenizers
 * cut. All tokenizers first split text into words, numbers, marks and white space, so those cuts are nearly certain;
 * inside a word, the pair of letters determines how likely a cut is. Costs are never negative, so a longer text never
 * has fewer tokens, and little state is carried from unit to unit, so a text costs about the sum of its parts.
 *
 * The reference is o200k_base; docs/decisions/0007 explains why, how well it fits and what it never falls below.
 */
export function estimateTextTokens(text: string): number {
  const state: State = { tokens: 0, before: LINE_END, previous: 10, run: 0, strangeness: FAMILIAR };
  for (let start = 0; start < text.length; start += STRIDE) {
    walk(text, start, Math.min(text.length, start + STRIDE), state);
  }
  return Math.ceil(state.tokens);
}

interface State {
  tokens: number;
  /** Kind and code of the previous unit. */
  before: number;
  previous: number;
  /** Units since the current word, number or row of marks began. */
  run: number;
  /** How much the word so far differs from a common word. */
  strangeness: number;
}

/** A long loop is compiled worse than many calls of a short one: this doubles the speed. */
const STRIDE = 512;

const LOWER = 0;
const UPPER = 1;
const DIGIT = 2;
const BLANK = 3;
/** Two or more blanks: the last one belongs to the next word, the others are a token. */
const BLANKS = 4;
const LINE_END = 5;
const MARK = 6;
const FOREIGN_WORD = 7;
const FOREIGN = 8;

const ASCII_KIND: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  if (code >= 48 && code <= 57) return DIGIT;
  if (code === 32 || code === 9) return BLANK;
  return code === 10 || code === 13 ? LINE_END : MARK;
});

/** How often a word does not share a token with the mark right before it, by mark. */
const AFTER_MARK: Float64Array = markTable(0.9, [
  ['._', 0.03],
  ["'", 0.05],
  ['-(#', 0.15],
  ['/*', 0.25],
  ['=[\\%,<$', 0.5],
]);

/** Cost of another mark of the same kind. People draw lines with some marks: a few tokens, however long. */
const SAME_MARK: Float64Array = markTable(0.5, [['-=*#_./~+%', 0.04]]);

/** Cost of a mark next to a different one; some marks seldom share a token. */
const NEXT_MARK: Float64Array = markTable(0, [['|@~+', 0.55]]);

/** Cost of the second, third and later marks in a row, in JSON and elsewhere. Longer rows do not occur. */
const JSON_ROW: readonly number[] = [0, 0.01, 0.04, 0.1, 0.15, 0.2];
const OTHER_ROW: readonly number[] = [0, 0.05, 0.14, 0.3];
const LONG_ROW = 0.5;
const IN_JSON: Float64Array = markTable(0, [['",:{}[]', 1]]);

/**
 * Words are shorter than this; longer runs are keys, hashes or letters without a gap. From here on the cost rises to
 * that of such text, however common its pairs of letters are.
 */
const LONG_WORD = 11;
const GLUED_STEP = 0.07;
const GLUED = 0.55;
const GLUED_FOREIGN = 1.05;

/** A pair of letters counts less in a word that looks common so far, and more in a strange one. */
const FAMILIAR = -0.12;
const STRANGEST = 1.6;
const CAPITALS = 0.09;

function walk(text: string, start: number, end: number, state: State): void {
  let { tokens, before, previous, run, strangeness } = state;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    const kind = code < 128 ? (ASCII_KIND[code] ?? MARK) : FOREIGN;
    switch (kind) {
      case LOWER:
      case UPPER:
        if (before <= UPPER) {
          run++;
          let cost = 1;
          if (kind > before) {
            strangeness = FAMILIAR;
          } else {
            const pair = LETTER_PAIRS[((previous & 31) << 5) | (code & 31)] ?? 1;
            cost = pair * Math.min(STRANGEST, 0.6 + 1.1 * strangeness) + CAPITALS * kind;
            strangeness += pair;
          }
          tokens += run < LONG_WORD ? cost : Math.max(cost, Math.min(GLUED, (run - LONG_WORD) * GLUED_STEP));
        } else if (before === FOREIGN_WORD) {
          run++;
          tokens += kind === UPPER ? 1 : 0.3;
        } else {
          tokens += wordStart(before, previous, run);
          run = 0;
          strangeness = FAMILIAR;
        }
        before = kind;
        break;
      case DIGIT:
        // Tokenizers cut numbers into groups of three digits.
        run = before === DIGIT ? run + 1 : 0;
        if (run % 3 === 0) tokens++;
        before = DIGIT;
        break;
      case BLANK:
        if (before !== BLANK && before !== BLANKS) {
          before = BLANK;
          tokens++;
        } else {
          before = BLANKS;
          if (code !== previous) tokens += 0.5;
          else tokens += code === 9 ? 0.08 : 0.012;
        }
        break;
      case LINE_END:
        // It shares a token with the line ends, blanks and marks before it.
        if (before === LINE_END) tokens += code === 13 && previous === 13 ? 0.5 : 0.08;
        else if (before === MARK || before === BLANK || before === BLANKS) tokens += 0.03;
        else tokens += before === FOREIGN ? 0.5 : 1;
        before = LINE_END;
        break;
      case MARK:
        if (before !== MARK) {
          // A preceding blank joins the mark, and no word joins them.
          run = before === BLANK || before === BLANKS ? 1 : 0;
          if (before !== BLANK) tokens++;
        } else {
          run++;
          tokens += markAfterMark(code, previous, run);
        }
        if (code < 32) tokens++;
        before = MARK;
        break;
      default: {
        const { kinds, weights, manners } = scriptTable();
        const script = kinds[code] ?? 0;
        const weight = weights[script] ?? 1;
        const manner = manners[script];
        if (manner === TRAIL) {
          // A lone low surrogate counts as a separate character.
          if ((previous & 0xfc00) !== 0xd800) tokens += weight;
        } else if (manner === DENSE) {
          if (before === FOREIGN) tokens += weight;
          else tokens += before === BLANK ? weight * 0.5 : Math.max(1, weight);
          before = FOREIGN;
        } else if (before <= UPPER || before === FOREIGN_WORD) {
          run++;
          const glued = run < LONG_WORD ? 0 : Math.min(GLUED_FOREIGN, (run - LONG_WORD) * 2 * GLUED_STEP);
          tokens += Math.max(weight, glued);
          before = FOREIGN_WORD;
        } else {
          tokens += Math.max(wordStart(before, previous, run), weight - 1);
          run = 0;
          strangeness = FAMILIAR;
          before = FOREIGN_WORD;
        }
      }
    }
    previous = code;
  }
  state.tokens = tokens;
  state.before = before;
  state.previous = previous;
  state.run = run;
  state.strangeness = strangeness;
}

function wordStart(before: number, previous: number, run: number): number {
  if (before === BLANK) return 0;
  return before === MARK && run === 0 ? (AFTER_MARK[previous] ?? 1) : 1;
}

function markAfterMark(code: number, previous: number, run: number): number {
  const row = (IN_JSON[code] === 1 && IN_JSON[previous] === 1 ? JSON_ROW[run] : OTHER_ROW[run]) ?? LONG_ROW;
  if (code === previous) return Math.min(row, SAME_MARK[code] ?? row);
  return Math.max(row, NEXT_MARK[code] ?? 0, NEXT_MARK[previous] ?? 0);
}

function markTable(other: number, rows: readonly (readonly [marks: string, cost: number])[]): Float64Array {
  const table = new Float64Array(128).fill(other);
  for (const [marks, cost] of rows) {
    for (const mark of marks) table[mark.charCodeAt(0)] = cost;
  }
  return table;
}
