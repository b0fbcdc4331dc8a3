/**
 * Tokens per UTF-16 code unit outside ASCII, by script. A weight is the mean of common tokenizers in running text,
 * raised where needed so that no text of that script is estimated below half of the highest count: an estimate that
 * is too high compacts early, one that is too low overflows.
 */

/** Scripts with spaces: the start of a word costs most. */
const WORD = 0;
/** Scripts without spaces: every character costs the same. */
export const DENSE = 1;
/** The second half of a surrogate pair; the first half has the cost. */
export const TRAIL = 2;

export interface ScriptTable {
  /** Index into `weights` and `manners`, by code unit. */
  readonly kinds: Uint8Array;
  readonly weights: Float64Array;
  readonly manners: Uint8Array;
}

type Range = readonly [first: number, weight: number, manner?: number];

/** Each range ends where the next begins. */
const RANGES: readonly Range[] = [
  [0x80, 1.1, DENSE], // controls and signs of Latin-1
  [0xc0, 0.45],
  [0x180, 0.6],
  [0x250, 1.5, DENSE], // phonetic letters, combining marks
  [0x370, 0.4], // Greek
  [0x400, 0.25], // Cyrillic
  [0x460, 1],
  [0x530, 1], // Armenian
  [0x590, 0.6], // Hebrew
  [0x600, 0.36], // Arabic
  [0x670, 0.65],
  [0x700, 1.8],
  [0x800, 2.6],
  [0x900, 0.55], // Devanagari
  [0x980, 0.65],
  [0xa00, 1],
  [0xb00, 1.5],
  [0xb80, 0.8], // Tamil
  [0xc00, 1],
  [0xe00, 0.6, DENSE], // Thai
  [0xe80, 1.4, DENSE],
  [0x1000, 1.3, DENSE],
  [0x10a0, 1.05], // Georgian
  [0x1100, 2.6],
  [0x1200, 1.7], // Ethiopic
  [0x1380, 2.6],
  [0x1780, 1, DENSE], // Khmer
  [0x1800, 2.6],
  [0x1e00, 1.6],
  [0x1ea0, 0.55], // Vietnamese
  [0x1f00, 1.7],
  [0x2000, 1.1, DENSE], // dashes, quotes, zero width
  [0x2070, 1.3, DENSE],
  [0x2300, 1.6, DENSE],
  [0x2500, 1.2, DENSE], // boxes and blocks
  [0x25a0, 1.4, DENSE],
  [0x2800, 2.4, DENSE],
  [0x3000, 1, DENSE], // CJK punctuation
  [0x3040, 0.65, DENSE], // kana
  [0x3100, 1.7, DENSE],
  [0x3200, 2.1, DENSE],
  [0x4e00, 2, DENSE], // Han, rare unless the levels below say otherwise
  [0xa000, 2.5, DENSE],
  [0xac00, 1.7], // Hangul, likewise
  [0xd7b0, 2.5, DENSE],
  [0xd800, 3.2, DENSE], // planes of rare scripts
  [0xd83c, 1.7, DENSE], // emoji
  [0xd83f, 3.2, DENSE],
  [0xdc00, 1, TRAIL],
  [0xe000, 2.5, DENSE],
  [0xfb00, 2.2, DENSE],
  [0xfe00, 0.6, DENSE], // variation selectors
  [0xfe10, 2.1, DENSE],
  [0xff00, 1, DENSE], // full width
  [0xff61, 1.3, DENSE],
  [0xffe0, 2, DENSE],
];

interface Level {
  readonly encoding: string;
  readonly leads: readonly [number, number];
  readonly trails: readonly [number, number];
  readonly weight: number;
  readonly manner?: number;
}

/**
 * National character sets have the common characters in their first level. The later row wins: characters of
 * newspapers in simplified Chinese are cheaper than those used only in Taiwan or Japan.
 */
const LEVELS: readonly Level[] = [
  { encoding: 'big5', leads: [0xa4, 0xc6], trails: [0x40, 0xfe], weight: 1.15 },
  { encoding: 'shift_jis', leads: [0x88, 0x97], trails: [0x40, 0xfc], weight: 1.05 },
  { encoding: 'gb18030', leads: [0xb0, 0xd7], trails: [0xa1, 0xfe], weight: 0.73 },
  { encoding: 'euc-kr', leads: [0xb0, 0xc8], trails: [0xa1, 0xfe], weight: 0.55, manner: WORD },
];

const FIRST_IDEOGRAPH = 0x4e00;
const LAST_SYLLABLE = 0xd7a3;

let table: ScriptTable | undefined;

/** Created at the first character outside ASCII; that takes a few milliseconds, once. */
export function scriptTable(): ScriptTable {
  table ??= build();
  return table;
}

function build(): ScriptTable {
  const kinds = new Uint8Array(0x10000);
  for (const [index, [first]] of RANGES.entries()) kinds.fill(index, first, RANGES[index + 1]?.[0]);
  const rows: Range[] = [...RANGES];
  for (const level of LEVELS) {
    const kind = rows.length;
    rows.push([0, level.weight, level.manner ?? DENSE]);
    const characters = charactersOf(level);
    for (let i = 0; i < characters.length; i++) {
      const code = characters.charCodeAt(i);
      if (code >= FIRST_IDEOGRAPH && code <= LAST_SYLLABLE) kinds[code] = kind;
    }
  }
  return {
    kinds,
    weights: Float64Array.from(rows, ([, weight]) => weight),
    manners: Uint8Array.from(rows, ([, , manner = WORD]) => manner),
  };
}

function charactersOf({ encoding, leads, trails }: Level): string {
  const bytes = new Uint8Array((leads[1] - leads[0] + 1) * (trails[1] - trails[0] + 1) * 2);
  let at = 0;
  for (let lead = leads[0]; lead <= leads[1]; lead++) {
    for (let trail = trails[0]; trail <= trails[1]; trail++) {
      bytes[at++] = lead;
      bytes[at++] = trail;
    }
  }
  return decode(bytes, encoding);
}

function decode(bytes: Uint8Array, encoding: string): string {
  try {
    return new TextDecoder(encoding).decode(bytes);
  } catch {
    // Expected in a Node built without ICU: every ideograph then counts as rare, which is high and safe.
    return '';
  }
}
