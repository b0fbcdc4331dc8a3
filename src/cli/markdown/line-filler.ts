import { graphemes, isWide, widthOf } from '../terminal/width.ts';
import type { Span } from './inline.ts';

/** Writes a piece of a span as the terminal shows it. */
export type Paint = (text: string, span: Span) => string;

interface Piece {
  readonly text: string;
  readonly span: Span;
}

/** Characters that must not start a line, and those that must not end one. */
const CLOSING = /^[、。，．！？：；）」』】》〉”’,.!?:;)\]}]/u;
const OPENING = /[（「『【《〈“‘([{]$/u;
/** Narrower terminals get lines of this width, which they wrap themselves. */
const MIN_COLUMNS = 12;

/**
 * Fills lines with words as they arrive. A word is written when its end is known, so no written word ever moves.
 * Between wide characters a line may break without a space.
 */
export class LineFiller {
  readonly #columns: () => number;
  readonly #paint: Paint;
  #hang: string;
  #column: number;
  #isLineEmpty = true;
  #spaces: readonly Piece[] = [];
  #word: Piece[] = [];
  #wordWidth = 0;

  /** @param start what the first line starts with, as printed; `hang` starts the lines after it. */
  constructor(
    columns: () => number,
    paint: Paint,
    { start = '', hang = '' }: { readonly start?: string; readonly hang?: string } = {},
  ) {
    this.#columns = columns;
    this.#paint = paint;
    this.#hang = hang;
    this.#column = widthOf(start);
  }

  add(span: Span): string {
    let out = '';
    for (const grapheme of graphemes(span.text)) {
      if (/^\s+$/.test(grapheme)) {
        out += this.#flush();
        this.#spaces = [...this.#spaces, { text: ' ', span }];
        continue;
      }
      const last = this.#word.at(-1)?.text ?? '';
      const mayBreak = (isWide(grapheme) || isWideEnd(last)) && !CLOSING.test(grapheme);
      if (last !== '' && mayBreak && !OPENING.test(last)) out += this.#flush();
      this.#push(grapheme, span);
    }
    return out;
  }

  /** Writes the last word. */
  end(): string {
    const out = this.#flush();
    this.#spaces = [];
    return out;
  }

  #push(grapheme: string, span: Span): void {
    const last = this.#word.at(-1);
    if (last !== undefined && isSameLook(last.span, span))
      this.#word[this.#word.length - 1] = { text: last.text + grapheme, span };
    else this.#word.push({ text: grapheme, span });
    this.#wordWidth += widthOf(grapheme);
  }

  #flush(): string {
    if (this.#word.length === 0) return '';
    const columns = Math.max(MIN_COLUMNS, this.#columns());
    const room = columns - this.#column - this.#spaces.length;
    let out = '';
    if (this.#wordWidth <= room || this.#isLineEmpty) {
      out += this.#spaces.map(({ span }) => this.#paint(' ', span)).join('');
      this.#column += this.#spaces.length;
    } else out += this.#newLine();
    for (const { text, span } of this.#word) {
      let part = '';
      // A word longer than a line, such as an address, is broken anywhere.
      for (const grapheme of graphemes(text)) {
        const width = widthOf(grapheme);
        if (this.#column + width > columns && this.#column > widthOf(this.#hang)) {
          out += this.#paint(part, span) + this.#newLine();
          part = '';
        }
        part += grapheme;
        this.#column += width;
      }
      out += this.#paint(part, span);
    }
    this.#isLineEmpty = false;
    this.#spaces = [];
    this.#word = [];
    this.#wordWidth = 0;
    return out;
  }

  #newLine(): string {
    this.#column = widthOf(this.#hang);
    return `\n${this.#hang}`;
  }
}

function isWideEnd(text: string): boolean {
  const last = graphemes(text).at(-1);
  return last !== undefined && isWide(last);
}

function isSameLook(a: Span, b: Span): boolean {
  return a === b || (a.href === b.href && a.formats.join() === b.formats.join());
}
