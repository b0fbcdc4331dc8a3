import { count } from '../../messages/english-format.ts';

const CELLS = 24;
const REDRAW_MS = 100;
/** Work that is done sooner needs no bar. */
const PATIENCE_MS = 300;

/** Whether a bar is on the terminal now. All bars share one line. */
let isDrawn = false;

/** Removes the bar. Every line that the CLI prints calls this first, so that no result begins behind a bar. */
export function eraseProgress(): void {
  if (isDrawn) process.stderr.write('\r\x1b[K');
  isDrawn = false;
}

/** A bar on stderr while long work runs; nothing where stderr is not a terminal. */
export class Progress implements Disposable {
  readonly #what: string;
  readonly #format: (n: number) => string;
  readonly #since: number = performance.now();
  #drawnAt: number = Number.NEGATIVE_INFINITY;

  /** @param format how the two numbers are written: `count`, or `byteCount` where they are bytes. */
  constructor(what: string, format: (n: number) => string = count) {
    this.#what = what;
    this.#format = format;
  }

  show(done: number, total: number): void {
    if (!process.stderr.isTTY) return;
    const now = performance.now();
    if (now - this.#since < PATIENCE_MS || now - this.#drawnAt < REDRAW_MS) return;
    this.#drawnAt = now;
    isDrawn = true;
    const share = total === 0 ? 1 : Math.min(1, done / total);
    const bar = '#'.repeat(Math.floor(share * CELLS)).padEnd(CELLS, '-');
    const amount = `${this.#format(done)} of ${this.#format(total)}`;
    process.stderr.write(`\r[${bar}] ${Math.floor(share * 100)}% ${this.#what}: ${amount}\x1b[K`);
  }

  [Symbol.dispose](): void {
    eraseProgress();
  }
}
