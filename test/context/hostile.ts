/**
 * Texts that no person writes: what breaks estimates by length. All are made here, from fixed seeds, with what two
 * tokenizers count (tiktoken 1.0.22, taken once).
 */
export interface HostileText {
  readonly name: string;
  readonly text: string;
  readonly o200k: number;
  readonly cl100k: number;
}

const UNITS = 1200;

function sequence(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function filled(make: (next: (below: number) => number) => string, seed: number): string {
  const next = sequence(seed);
  let text = '';
  while (text.length < UNITS) text += make(next);
  return text;
}

function drawnFrom(alphabet: string): string {
  const characters = [...alphabet];
  return filled((next) => characters[next(characters.length)] ?? '', 1);
}

function between(first: number, last: number): string {
  return drawnFrom(
    Array.from({ length: last - first + 1 }, (_, i) => String.fromCodePoint(first + i)).join(''),
  );
}

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();
const DIGITS = '0123456789';
const HEX = `${DIGITS}abcdef`;

function letters(next: (below: number) => number, alphabet: string): string {
  return Array.from({ length: 3 + next(7) }, () => alphabet[next(alphabet.length)]).join('');
}

const REPEATED: readonly string[] = [
  ...['a', 'e', 'z', 'Q', '0', '7', 'ab', 'th', 'the', 'aA', 'a1', 'a.', '_a', 'lol'],
  ...[' ', '\t', '\n', '\r\n', '\t ', '\0', '-', '=', '.', '&', '|', '"', '",', '{}', ']]', '`', '!', '%'],
  ...['<|im_start|>', '<|endoftext|>', '[INST]', '\n\nHuman:', ' SolidGoldMagikarp'],
  ...['é', 'ł', 'я', 'ب', '你', 'の', 'ア', '한', '。', '—', '█', '│', '⠿', 'ａ', 'ﷺ', '\u3000', '\ufffd'],
  ...['\u200b', '\u200d', '\ufeff', '\u00ad', '\u0301', 'a\u0301\u0302\u0303', '\u202e', '\ud800', '\udc00'],
  ...['😀', '👍🏽', '👨‍👩‍👧‍👦', '🇩🇪', '❤️', '𝔞'],
];

const DRAWN: Readonly<Record<string, string>> = {
  'small letters': drawnFrom(LOWER),
  'capital letters': drawnFrom(UPPER),
  'mixed letters': drawnFrom(LOWER + UPPER),
  consonants: drawnFrom('bcdfghjklmnpqrstvwxz'),
  vowels: drawnFrom('aeiou'),
  base64: drawnFrom(`${LOWER}${UPPER}${DIGITS}+/`),
  base32: drawnFrom(`${UPPER}234567`),
  hex: drawnFrom(HEX),
  digits: drawnFrom(DIGITS),
  binary: drawnFrom('01'),
  genes: drawnFrom('ACGT'),
  marks: drawnFrom('!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'),
  'white space': drawnFrom(' \n\t\r'),
  controls: between(0, 31),
  'printable ASCII': between(32, 126),
  'Latin-1': between(0xa1, 0xff),
  uuids: filled((next) => `${'xxxxxxxx-xxxx-xxxx'.replace(/x/g, () => HEX[next(16)] ?? '')}\n`, 2),
  'percent escapes': filled((next) => `%${next(256).toString(16).toUpperCase().padStart(2, '0')}`, 3),
  'unicode escapes': filled((next) => `\\u${next(65536).toString(16).padStart(4, '0')}`, 4),
  'words of random letters': filled((next) => `${letters(next, LOWER)} `, 5),
  'words glued together': 'thequickbrownfoxjumpsoverthelazydogandrunsawayfromthehouse'.repeat(20),
  'letters in a column': filled((next) => `${LOWER[next(26)]}\n`, 6),
  numbers: filled((next) => `${next(10 ** 9) / 1000},`, 7),
  Greek: between(0x391, 0x3c9),
  Cyrillic: between(0x410, 0x44f),
  Armenian: between(0x531, 0x556),
  Hebrew: between(0x5d0, 0x5ea),
  Arabic: between(0x621, 0x64a),
  Syriac: between(0x712, 0x72f),
  Devanagari: between(0x905, 0x939),
  Oriya: between(0xb15, 0xb28),
  Tamil: between(0xb85, 0xbb9),
  Thai: between(0xe01, 0xe2e),
  Tibetan: between(0xf40, 0xf6c),
  Georgian: between(0x10d0, 0x10f0),
  Ethiopic: between(0x1200, 0x1248),
  Cherokee: between(0x13a0, 0x13f5),
  Runes: between(0x16a0, 0x16ea),
  Khmer: between(0x1780, 0x17b3),
  Mongolian: between(0x1820, 0x1878),
  arrows: between(0x2190, 0x21ff),
  'mathematical signs': between(0x2200, 0x22ff),
  boxes: between(0x2500, 0x257f),
  Braille: between(0x2800, 0x28ff),
  Hiragana: between(0x3041, 0x3096),
  Katakana: between(0x30a1, 0x30fa),
  'rare Han': between(0x3400, 0x4db5),
  Han: between(0x4e00, 0x9fa5),
  Yi: between(0xa000, 0xa48c),
  Hangul: between(0xac00, 0xd7a3),
  'private use': between(0xe000, 0xf8ff),
  'half width': between(0xff66, 0xff9d),
  cuneiform: between(0x12000, 0x12399),
  'mathematical letters': between(0x1d400, 0x1d454),
  emoji: between(0x1f300, 0x1f5ff),
  'Han of plane 2': between(0x20000, 0x2a6d6),
};

/** Nothing invisible, and nothing that turns text around, stands in a name. */
function shown(unit: string): string {
  return JSON.stringify(unit).replace(
    /[^ -~]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** By name: what o200k_base and cl100k_base count. */
const COUNTS: Readonly<Record<string, readonly [o200k: number, cl100k: number]>> = {
  '"a" repeated': [150, 150],
  '"e" repeated': [300, 300],
  '"z" repeated': [600, 600],
  '"Q" repeated': [600, 600],
  '"0" repeated': [400, 400],
  '"7" repeated': [400, 400],
  '"ab" repeated': [300, 600],
  '"th" repeated': [600, 600],
  '"the" repeated': [400, 400],
  '"aA" repeated': [601, 1200],
  '"a1" repeated': [1200, 1200],
  '"a." repeated': [601, 601],
  '"_a" repeated': [600, 600],
  '"lol" repeated': [401, 401],
  '" " repeated': [10, 10],
  '"\\t" repeated': [75, 75],
  '"\\n" repeated': [75, 38],
  '"\\r\\n" repeated': [150, 150],
  '"\\t " repeated': [600, 600],
  '"\\u0000" repeated': [600, 1200],
  '"-" repeated': [18, 19],
  '"=" repeated': [19, 19],
  '"." repeated': [20, 20],
  '"&" repeated': [600, 600],
  '"|" repeated': [300, 300],
  '"\\"" repeated': [300, 600],
  '"\\"," repeated': [600, 600],
  '"{}" repeated': [600, 600],
  '"]]" repeated': [600, 600],
  '"`" repeated': [600, 600],
  '"!" repeated': [75, 150],
  '"%" repeated': [38, 20],
  '"<|im_start|>" repeated': [501, 501],
  '"<|endoftext|>" repeated': [559, 559],
  '"[INST]" repeated': [401, 401],
  '"\\n\\nHuman:" repeated': [301, 301],
  '" SolidGoldMagikarp" repeated': [335, 335],
  '"\\u00e9" repeated': [1200, 1200],
  '"\\u0142" repeated': [1200, 1200],
  '"\\u044f" repeated': [600, 1200],
  '"\\u0628" repeated': [1200, 1200],
  '"\\u4f60" repeated': [1200, 1200],
  '"\\u306e" repeated': [1200, 1200],
  '"\\u30a2" repeated': [1200, 1200],
  '"\\ud55c" repeated': [1200, 1200],
  '"\\u3002" repeated': [600, 600],
  '"\\u2014" repeated': [75, 75],
  '"\\u2588" repeated': [300, 300],
  '"\\u2502" repeated': [1200, 1200],
  '"\\u283f" repeated': [3600, 3600],
  '"\\uff41" repeated': [1201, 2400],
  '"\\ufdfa" repeated': [2400, 3600],
  '"\\u3000" repeated': [75, 600],
  '"\\ufffd" repeated': [150, 300],
  '"\\u200b" repeated': [300, 600],
  '"\\u200d" repeated': [1200, 2400],
  '"\\ufeff" repeated': [600, 1200],
  '"\\u00ad" repeated': [600, 1200],
  '"\\u0301" repeated': [1200, 1200],
  '"a\\u0301\\u0302\\u0303" repeated': [1200, 1800],
  '"\\u202e" repeated': [1200, 2400],
  '"\\ud800" repeated': [150, 300],
  '"\\udc00" repeated': [150, 300],
  '"\\ud83d\\ude00" repeated': [600, 1200],
  '"\\ud83d\\udc4d\\ud83c\\udffd" repeated': [900, 1800],
  '"\\ud83d\\udc68\\u200d\\ud83d\\udc69\\u200d\\ud83d\\udc67\\u200d\\ud83d\\udc66" repeated': [1210, 1980],
  '"\\ud83c\\udde9\\ud83c\\uddea" repeated': [1200, 1800],
  '"\\u2764\\ufe0f" repeated': [600, 1800],
  '"\\ud835\\udd1e" repeated': [1800, 1800],
  'small letters': [633, 654],
  'capital letters': [698, 722],
  'mixed letters': [741, 806],
  consonants: [692, 705],
  vowels: [608, 634],
  base64: [824, 867],
  base32: [769, 786],
  hex: [691, 688],
  digits: [400, 400],
  binary: [400, 400],
  genes: [626, 623],
  marks: [796, 793],
  'white space': [547, 586],
  controls: [1188, 1193],
  'printable ASCII': [895, 903],
  'Latin-1': [1217, 1452],
  uuids: [798, 795],
  'percent escapes': [901, 901],
  'unicode escapes': [716, 714],
  'words of random letters': [569, 590],
  'words glued together': [359, 359],
  'letters in a column': [1200, 1200],
  numbers: [555, 555],
  Greek: [1191, 1846],
  Cyrillic: [1050, 1320],
  Armenian: [1417, 2400],
  Hebrew: [860, 1730],
  Arabic: [1137, 1486],
  Syriac: [2400, 2400],
  Devanagari: [1300, 2156],
  Oriya: [1570, 3600],
  Tamil: [1722, 2400],
  Thai: [1293, 1780],
  Tibetan: [2375, 2400],
  Georgian: [1027, 2400],
  Ethiopic: [2400, 3586],
  Cherokee: [3600, 3586],
  Runes: [3573, 3582],
  Khmer: [1760, 2374],
  Mongolian: [3591, 3575],
  arrows: [2333, 3042],
  'mathematical signs': [2343, 3002],
  boxes: [2293, 2321],
  Braille: [3552, 3563],
  Hiragana: [1385, 1759],
  Katakana: [1371, 1756],
  'rare Han': [3575, 3582],
  Han: [2311, 2847],
  Yi: [3581, 3578],
  Hangul: [2664, 3076],
  'private use': [3470, 3558],
  'half width': [2256, 2400],
  cuneiform: [2391, 2353],
  'mathematical letters': [1347, 1780],
  emoji: [1356, 1748],
  'Han of plane 2': [2380, 2378],
};

export const HOSTILE: readonly HostileText[] = [
  ...REPEATED.map(
    (unit) => [`${shown(unit)} repeated`, unit.repeat(Math.ceil(UNITS / unit.length))] as const,
  ),
  ...Object.entries(DRAWN),
].map(([name, text]) => {
  const [o200k = Number.NaN, cl100k = Number.NaN] = COUNTS[name] ?? [];
  return { name, text, o200k, cl100k };
});
