import type { WriteStream } from 'node:tty';
import { drewTransient, eraseTransient } from './transient.ts';
import { fitWidth } from './width.ts';

const MAX_LINES = 6;
const SAVE = '\u001b7';
const RESTORE = '\u001b8';
/** Moves down one row without changing the column; scrolls at the last row. */
const DOWN = '\u001bD';
const ERASE_BELOW = '\u001b[J';
const ERASE_LINE = '\u001b[K';

/**
 * Lines below the output. The cursor stays where the output ends, also in the middle of a line, so erasing them needs
 * no arithmetic and survives a resize: everything after the cursor is erased.
 */
export class Footer {
  readonly #terminal: Pick<WriteStream, 'write' | 'columns' | 'rows'>;
  #drawn = '';

  constructor(terminal: Pick<WriteStream, 'write' | 'columns' | 'rows'>) {
    this.#terminal = terminal;
  }

  /** @param isLineStart the cursor is at the start of a line, so the first line of the footer can use that row. */
  draw(lines: readonly string[], isLineStart: boolean): void {
    const { columns = 80, rows = 24 } = this.#terminal;
    const shown = lines.slice(0, Math.min(MAX_LINES, rows - 2)).map((line) => fitWidth(line, columns - 1));
    const below = shown.length - (isLineStart ? 1 : 0);
    const room = below <= 0 ? '' : `${DOWN.repeat(below)}\u001b[${below}A`;
    const text = shown
      .map((line, i) => `${i === 0 && isLineStart ? '\r' : '\r\n'}${line}${ERASE_LINE}`)
      .join('');
    const drawing = `${room}${SAVE}${text}${RESTORE}`;
    if (this.#drawn === drawing) return;
    eraseTransient();
    this.#drawn = drawing;
    this.#terminal.write(drawing);
    drewTransient(() => {
      this.#drawn = '';
      this.#terminal.write(ERASE_BELOW);
    });
  }

  erase(): void {
    if (this.#drawn !== '') eraseTransient();
  }
}
