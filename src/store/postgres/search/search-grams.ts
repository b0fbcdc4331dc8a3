/**
 * What an index keeps of a text: hashes of the pieces of one, two and three code units it consists of. A text that
 * holds a word holds all pieces of the word, so whatever lacks one need not be looked into. Two texts may share a hash;
 * whoever asks reads what is left.
 *
 * Three units say most about words of an alphabet. In scripts that write a syllable or a word with one character two
 * say as much, and are all that two-character words have; there threes would only cost.
 */

/** CJK and behind it; emoji are pairs of units up here too. */
const DENSE = 0x2e80;

export type GramSet = Set<number>;

/** Of a folded text, gathered from any number of texts. */
export function addGrams(grams: GramSet, text: string): void {
  let [a, b] = [-1, -1];
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    grams.add(c);
    if (b >= 0) grams.add(pair(b, c));
    if (a >= 0 && !isDense(a, b, c)) grams.add(triple(a, b, c));
    [a, b] = [b, c];
  }
}

/** More would not rule out more. */
const MAX_QUERY_GRAMS = 64;

/** Pieces that a text with all these words must have; of many words some. */
export function queryGrams(words: readonly string[]): number[] {
  const grams: GramSet = new Set();
  for (const word of words) {
    const units = Array.from({ length: word.length }, (_, i) => word.charCodeAt(i));
    const [first = 0, second] = units;
    if (second === undefined) grams.add(first);
    else if (units.length === 2) grams.add(pair(first, second));
    for (let i = 2; i < units.length; i++) {
      const [a = 0, b = 0, c = 0] = units.slice(i - 2, i + 1);
      if (!isDense(a, b, c)) grams.add(triple(a, b, c));
      else grams.add(pair(a, b)).add(pair(b, c));
    }
  }
  const all = [...grams];
  const step = Math.max(1, all.length / MAX_QUERY_GRAMS);
  // Spread over all of it, so that every part of a long query says something.
  return Array.from(
    { length: Math.min(all.length, MAX_QUERY_GRAMS) },
    (_, i) => all[Math.floor(i * step)] ?? 0,
  );
}

const isDense = (a: number, b: number, c: number): boolean => a >= DENSE && b >= DENSE && c >= DENSE;

const pair = (a: number, b: number): number => Math.imul(a, 0x9e37_79b1) ^ Math.imul(b, 0x85eb_ca77);

function triple(a: number, b: number, c: number): number {
  const two = pair(a, b);
  return Math.imul(two ^ (two >>> 15), 0x2c1b_3c6d) ^ Math.imul(c + 1, 0xc2b2_ae3d);
}
