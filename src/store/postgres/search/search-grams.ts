/**
 * The index data of a text: hashes of its grams of one, two and three code units. A text that contains a word
 * contains all grams of the word, so a text without one of them need not be read. Two grams may share a hash; the
 * search reads and checks the remaining texts.
 *
 * For alphabets, grams of three units are the most selective. In scripts that write a syllable or a word with one
 * character, two units are as selective, and a two-character word has nothing longer; threes would only add cost.
 */

/** CJK and the code units after it, including the surrogates of emoji. */
const DENSE = 0x2e80;

export type GramSet = Set<number>;

/** Adds the grams of a folded text to a set. */
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

/** More grams would not exclude more texts. */
const MAX_QUERY_GRAMS = 64;

/** Grams that every text with all of these words contains; a selection for long queries. */
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
  // Evenly distributed, so that every part of a long query counts.
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
