import { stripVTControlCharacters } from 'node:util';

const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;
const ZERO = /^[\p{M}\p{Cf}]+$/u;
const EMOJI = /\p{RGI_Emoji}|\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f/v;
/** Code points that terminals draw two cells wide (East Asian Wide and Fullwidth). */
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{20000}-\u{3fffd}]/u;

/** Characters as a person sees them: an emoji with its modifiers is one. */
export function graphemes(text: string): string[] {
  if (PRINTABLE_ASCII.test(text)) return [...text];
  return [...GRAPHEMES.segment(text)].map(({ segment }) => segment);
}

export function isWide(grapheme: string): boolean {
  return !PRINTABLE_ASCII.test(grapheme) && (WIDE.test(grapheme) || EMOJI.test(grapheme));
}

/** Width in terminal cells, without escape sequences: East Asian characters and emoji take two cells. */
export function widthOf(text: string): number {
  const shown = stripVTControlCharacters(text);
  if (PRINTABLE_ASCII.test(shown)) return shown.length;
  let width = 0;
  for (const grapheme of graphemes(shown)) width += isWide(grapheme) ? 2 : ZERO.test(grapheme) ? 0 : 1;
  return width;
}

/** The start of a text that fits a width; what does not fit is marked with an ellipsis. */
export function fitWidth(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let fitting = '';
  let width = 1;
  for (const grapheme of graphemes(text)) {
    width += widthOf(grapheme);
    if (width > columns) break;
    fitting += grapheme;
  }
  return `${fitting}…`;
}
