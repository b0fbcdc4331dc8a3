/** A word of one or two characters is searched in `pairs`, a longer one in `trigrams`. */
export interface GramQuery {
  readonly table: 'trigrams' | 'pairs';
  /** For MATCH. It consists of quoted parts only, so user input is never parsed as syntax. */
  readonly match: string;
}

/** More grams do not improve the result: every line that the index finds is read and checked anyway. */
const MAX_GRAMS = 24;
const END = '\ue080';
const PRIVATE = 0xe000;

/** The text for the trigram tokenizer. A NUL character would end the text for SQLite. */
export function gramText(folded: string): string {
  return folded.replaceAll('\0', '\ufffd');
}

/** All pairs of adjacent characters in a text, each once, and the last character alone. */
export function pairText(folded: string): string {
  const pairs = new Set<string>();
  let previous: string | undefined;
  for (const character of spelled(folded)) {
    if (previous !== undefined) pairs.add(previous + character);
    previous = character;
  }
  if (previous !== undefined) pairs.add(previous + END);
  return [...pairs].join(' ');
}

/** The grams that every matching text must contain. */
export function gramQuery(words: readonly string[]): GramQuery {
  const long = words.filter((word) => [...word].length > 2);
  if (long.length > 0) {
    const grams = spread([...new Set(long.flatMap((word) => trigramsOf(gramText(word))))]);
    return { table: 'trigrams', match: grams.map(quoted).join(' AND ') };
  }
  const parts = spread([...new Set(words)]).map((word) => {
    const characters = [...spelled(word)];
    return quoted(characters.join('')) + (characters.length === 1 ? '*' : '');
  });
  return { table: 'pairs', match: parts.join(' AND ') };
}

function trigramsOf(word: string): string[] {
  const characters = [...word];
  return characters.slice(2).map((last, i) => `${characters[i]}${characters[i + 1]}${last}`);
}

/** Picks grams evenly from the whole list. */
function spread(grams: readonly string[]): readonly string[] {
  if (grams.length <= MAX_GRAMS) return grams;
  return Array.from({ length: MAX_GRAMS }, (_, i) => grams[Math.floor((i * grams.length) / MAX_GRAMS)] ?? '');
}

function quoted(gram: string): string {
  return `"${gram.replaceAll('"', '""')}"`;
}

/** Encodes ASCII punctuation as private-use characters, because SQLite splits tokens at it. */
function spelled(folded: string): string {
  return folded.replace(/[^a-z0-9\u0080-\uffff]/g, (character) =>
    String.fromCharCode(PRIVATE + character.charCodeAt(0)),
  );
}
