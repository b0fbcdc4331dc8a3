/* What a terminal makes of the bytes it is sent, as far as this program uses it; an unknown order is an error. */

const TOKEN =
  /\u001b\]8;[^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b\[([?0-9;]*)([A-Za-z])|\u001b([78D])|([\u0000-\u001f\u007f])|([^\u0000-\u001f\u007f])/gu;

/** A pipe may split the output anywhere. */
const UNFINISHED = /\u001b(?:\[[?0-9;]*|\][^\u0007\u001b]*\u001b?)?$/;

/** Grows downwards without end, so that nothing scrolls away; rows wrap at the width of the moment. */
export class Screen {
  columns: number;
  readonly #rows: string[][] = [[]];
  #row = 0;
  #column = 0;
  #saved: [row: number, column: number] = [0, 0];
  /** The start of an escape sequence whose end has not arrived yet. */
  #pending = '';

  constructor(columns: number) {
    this.columns = columns;
  }

  get text(): string {
    return this.#rows.map((row) => this.#line(row)).join('\n');
  }

  get isPrompt(): boolean {
    const row = this.#rows[this.#row] ?? [];
    return this.#line(row) === '>' && this.#column === 2;
  }

  write(text: string): void {
    const all = this.#pending + text;
    const end = UNFINISHED.exec(all)?.index ?? all.length;
    this.#pending = all.slice(end);
    for (const [token, numbers = '', order, short, control, character] of all.slice(0, end).matchAll(TOKEN)) {
      if (character !== undefined) this.#put(character);
      else if (control !== undefined) this.#control(control);
      else if (short !== undefined) this.#short(short);
      else if (token.startsWith('\u001b]'))
        continue; // a link, which is not seen
      else if (!numbers.startsWith('?') && order !== 'm') this.#order(order ?? '', numbers, token);
    }
  }

  #line(row: readonly string[]): string {
    return Array.from(row, (cell) => cell ?? ' ')
      .join('')
      .trimEnd();
  }

  #put(character: string): void {
    if (this.#column >= this.columns) this.#newLine(0);
    this.#cells()[this.#column] = character;
    this.#column++;
  }

  #control(control: string): void {
    if (control === '\r') this.#column = 0;
    else if (control === '\n') this.#newLine(this.#column);
    else if (control === '\t') this.#column = (Math.floor(this.#column / 8) + 1) * 8;
    else if (control !== '\u0007') throw new Error(`a control for the terminal: ${JSON.stringify(control)}`);
  }

  /** Saves and restores the cursor, and moves it down. */
  #short(order: string): void {
    if (order === '7') this.#saved = [this.#row, this.#column];
    else if (order === '8') [this.#row, this.#column] = this.#saved;
    else this.#newLine(Math.min(this.#column, this.columns - 1));
  }

  #order(order: string, numbers: string, all: string): void {
    const n = Number(numbers.split(';')[0] || '1');
    if (order === 'A') this.#row = Math.max(0, this.#row - n);
    else if (order === 'B') this.#row += n;
    else if (order === 'C') this.#column = Math.min(this.columns - 1, this.#column + n);
    else if (order === 'D') this.#column = Math.max(0, Math.min(this.#column, this.columns - 1) - n);
    else if (order === 'G') this.#column = n - 1;
    else if (order === 'K') this.#cells().splice(this.#column);
    else if (order === 'J') {
      this.#cells().splice(this.#column);
      this.#rows.splice(this.#row + 1);
    } else throw new Error(`an order for the terminal: ${JSON.stringify(all)}`);
  }

  #cells(): string[] {
    while (this.#rows.length <= this.#row) this.#rows.push([]);
    return this.#rows[this.#row] ?? [];
  }

  #newLine(column: number): void {
    this.#row++;
    this.#column = column;
    this.#cells();
  }
}
