const CELLS = 24;
const REDRAW_MS = 100;
/** Work that is done sooner needs no bar. */
const PATIENCE_MS = 300;

/** A bar on stderr while long work goes on; where that is no terminal, silence. */
export class Progress implements Disposable {
  readonly #what: string;
  readonly #since: number = performance.now();
  #drawnAt: number = Number.NEGATIVE_INFINITY;
  #isDrawn = false;

  constructor(what: string) {
    this.#what = what;
  }

  show(done: number, total: number): void {
    if (!process.stderr.isTTY) return;
    const now = performance.now();
    if (now - this.#since < PATIENCE_MS || now - this.#drawnAt < REDRAW_MS) return;
    this.#drawnAt = now;
    this.#isDrawn = true;
    const share = total === 0 ? 1 : Math.min(1, done / total);
    const bar = '#'.repeat(Math.floor(share * CELLS)).padEnd(CELLS, '-');
    process.stderr.write(`\r[${bar}] ${Math.floor(share * 100)}% ${this.#what}: ${done} of ${total}\x1b[K`);
  }

  /** Leaves nothing behind. */
  [Symbol.dispose](): void {
    if (this.#isDrawn) process.stderr.write('\r\x1b[K');
  }
}
