import { byteCount, count, secondCount } from '../../messages/english-format.ts';
import { drewTransient, eraseTransient } from './transient.ts';
import { fitWidth } from './width.ts';

const CELLS = 24;
const REDRAW_MS = 100;
/** Work that is done sooner needs no bar. */
const PATIENCE_MS = 300;
/** After this time without progress, the bar shows that the work is still running. */
const SILENCE_MS = 1000;
/** A rate over less time says little about the time that remains. */
const RATE_MS = 1000;
const SPINNER = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';

/** A bar on stderr while long work runs; nothing where stderr is not a terminal. */
export class Progress implements Disposable {
  readonly #what: string;
  readonly #format: (n: number) => string;
  readonly #since: number = performance.now();
  readonly #pulse: ReturnType<typeof setInterval> | undefined;
  #drawnAt: number = Number.NEGATIVE_INFINITY;
  #shown: readonly [done: number, total: number] | undefined;

  /** @param format how the two numbers are written: `count`, or `byteCount` where they are bytes. */
  constructor(what: string, format: (n: number) => string = count) {
    this.#what = what;
    this.#format = format;
    if (!process.stderr.isTTY) return;
    this.#pulse = setInterval(() => this.#alive(), SILENCE_MS);
    this.#pulse.unref();
  }

  show(done: number, total: number): void {
    if (!process.stderr.isTTY) return;
    this.#shown = [done, total];
    const now = performance.now();
    if (now - this.#since < PATIENCE_MS || now - this.#drawnAt < REDRAW_MS) return;
    this.#draw(now);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#pulse);
    eraseTransient();
  }

  /** Work that reports its progress rarely, or not at all. */
  #alive(): void {
    const now = performance.now();
    if (now - this.#drawnAt >= SILENCE_MS) this.#draw(now);
  }

  #draw(now: number): void {
    this.#drawnAt = now;
    const seconds = (now - this.#since) / 1000;
    const line = this.#shown === undefined ? this.#spinner(seconds) : this.#bar(this.#shown, seconds);
    const columns = process.stderr.columns ?? 80;
    process.stderr.write(`\r${fitWidth(line, columns - 1)}\u001b[K`);
    drewTransient(() => process.stderr.write('\r\u001b[K'));
  }

  #spinner(seconds: number): string {
    return `${SPINNER[Math.floor(seconds) % SPINNER.length]} ${this.#what} · ${duration(seconds)}`;
  }

  #bar([done, total]: readonly [number, number], seconds: number): string {
    const share = total === 0 ? 1 : Math.min(1, done / total);
    const bar = '#'.repeat(Math.floor(share * CELLS)).padEnd(CELLS, '-');
    const amount = `${this.#format(done)} of ${this.#format(total)}`;
    const parts = [`[${bar}] ${Math.floor(share * 100)}% ${this.#what}: ${amount}`];
    if (seconds * 1000 >= RATE_MS && done > 0) {
      const rate = done / seconds;
      const shown = this.#format === byteCount || rate >= 10 ? this.#format(rate) : rate.toFixed(1);
      parts.push(`${shown}/s`);
      if (done < total) parts.push(`${duration((total - done) / rate)} left`);
    }
    return parts.join(' · ');
  }
}

/** "4 s", "3 min 20 s", "2 h 5 min". */
export function duration(seconds: number): string {
  if (seconds < 60) return secondCount(Math.round(seconds));
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${count(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}
