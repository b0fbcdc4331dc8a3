import { stripVTControlCharacters } from 'node:util';

/** Narrower terminals get the text unwrapped. */
const MIN_COLUMNS = 20;
const HANG = 4;

/**
 * Breaks the lines of a listing between words, so that a narrow terminal does not break them inside a word.
 * Continuation lines are indented: under the second column of a row if that leaves half of the width, otherwise a
 * little deeper than the row. Words longer than a line, such as ids and paths, stay whole.
 */
export function wrapText(text: string, columns: number): string {
  if (columns < MIN_COLUMNS) return text;
  return text
    .split('\n')
    .flatMap((line) => (widthOf(line) <= columns ? [line] : wrapLine(line, columns)))
    .join('\n');
}

/** Wraps to the width of a terminal; text for a pipe or file stays as it is. */
export function wrapFor({ columns }: { readonly columns?: number }, text: string): string {
  return columns === undefined ? text : wrapText(text, columns);
}

function wrapLine(line: string, columns: number): string[] {
  const [lead = ''] = /^ */.exec(line) ?? [];
  const deeper = ' '.repeat(lead.length + HANG);
  const [, first, second] = /^(\s*\S+(?: \S+)* {2,})(\S.*)$/.exec(line) ?? [];
  if (first === undefined || second === undefined)
    return fill(line.slice(lead.length), lead, deeper, columns);
  if (widthOf(first) <= columns / 2) return fill(second, first, ' '.repeat(widthOf(first)), columns);
  const name = fill(first.trim(), lead, deeper, columns);
  return [...name, ...fill(second, deeper, deeper, columns)];
}

/** Fills lines with words. The first line starts with `first`, the others with `next`. */
function fill(text: string, first: string, next: string, columns: number): string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of text.split(' ')) {
    const longer = isEmpty ? `${line}${word}` : `${line} ${word}`;
    if (isEmpty || widthOf(longer) <= columns) line = longer;
    else {
      lines.push(line.trimEnd());
      line = `${next}${word}`;
    }
    isEmpty = false;
  }
  return [...lines, line.trimEnd()];
}

/** Width in terminal cells: East Asian characters and emoji take two. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of stripVTControlCharacters(text)) width += WIDE.test(character) ? 2 : 1;
  return width;
}

const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}]/u;
