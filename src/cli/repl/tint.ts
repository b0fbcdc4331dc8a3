import { escapeForTerminal } from '../terminal/print.ts';

type Format = 'bold' | 'dim';

const HEADING = /^#{1,6} /;
const FENCE = /^ {0,3}(?:```|~~~)/;
/** The start of a line that may become a heading or a fence with the next characters. */
const UNDECIDED = /^(?:#{1,6}| {0,3}(?:`{0,2}|~{0,2}))$/;

/**
 * Formats the model's text as it streams: control characters escaped, headings bold, fenced code dim, nothing moved or
 * left out. The start of a line is held back until its first characters show what it is.
 */
export class Tint {
  readonly #style: (format: Format, text: string) => string;
  #held = '';
  #isLineStart = true;
  #isFenced = false;
  #format: Format | undefined;

  constructor(style: (format: Format, text: string) => string) {
    this.#style = style;
  }

  /** @returns the text to print now. */
  take(text: string): string {
    return this.#take(text, false);
  }

  end(): string {
    const rest = this.#take('', true);
    this.#isLineStart = true;
    this.#isFenced = false;
    this.#format = undefined;
    return rest;
  }

  #take(text: string, isEnd: boolean): string {
    let rest = this.#held + text;
    this.#held = '';
    let out = '';
    while (rest !== '') {
      const end = rest.indexOf('\n');
      const line = end === -1 ? rest : rest.slice(0, end);
      if (this.#isLineStart) {
        if (end === -1 && !isEnd && UNDECIDED.test(line)) {
          this.#held = rest;
          return out;
        }
        this.#begin(line);
      }
      out += this.#paint(line);
      if (end === -1) break;
      out += '\n';
      this.#isLineStart = true;
      rest = rest.slice(end + 1);
    }
    return out;
  }

  #begin(line: string): void {
    this.#isLineStart = false;
    const isFence = FENCE.test(line);
    if (isFence) this.#isFenced = !this.#isFenced;
    if (isFence || this.#isFenced) this.#format = 'dim';
    else this.#format = HEADING.test(line) ? 'bold' : undefined;
  }

  #paint(line: string): string {
    const safe = escapeForTerminal(line);
    return safe === '' || this.#format === undefined ? safe : this.#style(this.#format, safe);
  }
}
