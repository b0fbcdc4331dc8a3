import type { Frame } from './frame.ts';
import { LatestRead, type ReadEvents } from './latest-read.ts';
import { isSameKind, join, type LogRecord, restOf, sizeOf, sizes, type ToldRecord } from './log-record.ts';

/** The newest events stay single; older deltas are merged. */
const FRESH = 512;
const MERGED_CHARS = 16 * 1024;

/** The events of a log, ordered by number. */
export class LogRecords {
  readonly #onSize: (change: number) => void;
  readonly #latestRead: LatestRead = new LatestRead();
  #records: LogRecord[] = [];
  /** Number of leading records that are already merged. */
  #settled = 0;
  #size = 0;
  #told = 0;

  constructor(onSize: (change: number) => void) {
    this.#onSize = onSize;
  }

  get size(): number {
    return this.#size;
  }

  /** Total size of all events ever added. */
  get told(): number {
    return this.#told;
  }

  push(told: ToldRecord): void {
    const { seq, event, last: n, ends } = told;
    const size = sizeOf(event) + 8 * (ends?.length ?? 0);
    this.#told += size;
    const frame = ends === undefined && { frame: { id: { seq, n }, event } };
    this.#records.push({ ...told, ...frame, size, told: this.#told });
    this.#grow(size);
    if (this.#records.length - this.#settled >= 2 * FRESH) this.#merge();
  }

  /** The record that contains a number, or the next one. */
  at(n: number): LogRecord | undefined {
    return this.#records[this.#find(n - 1)];
  }

  /** Records after one number, up to another. */
  *between(after: number, until: number): Generator<LogRecord, void, undefined> {
    for (let at = this.#find(after); at < this.#records.length; at++) {
      const record = this.#records[at] as LogRecord;
      if (record.first > until) return;
      yield record;
    }
  }

  /** The first record after an entry and an event number. */
  firstFrom(seq: number, after: number): LogRecord | undefined {
    return this.#records.find((record) => record.seq >= seq && record.first > after);
  }

  /**
   * The next events after a number, about `maxChars` characters. Clients at the same position get the same list, so
   * that it is built and encoded once.
   */
  read(after: number, until: number, maxChars: number): ReadEvents {
    return this.#latestRead.find([after, until, maxChars], () => this.#read(after, until, maxChars));
  }

  /** Clears the cached read when the last client has left. */
  forgetRead(): void {
    this.#latestRead.forget();
  }

  /**
   * Drops records before an entry. @returns the number of the last dropped event.
   */
  dropBefore(seq: number): number | undefined {
    const kept = this.#records.findIndex((record) => record.seq >= seq);
    return this.#drop(kept === -1 ? this.#records.length : kept);
  }

  dropAll(): void {
    this.#drop(this.#records.length);
  }

  #read(after: number, until: number, maxChars: number): ReadEvents {
    const frames: Frame[] = [];
    let chars = 0;
    let told = 0;
    for (const record of this.between(after, until)) {
      frames.push(record.frame ?? restOf(record, after));
      chars += record.size;
      told = record.told;
      if (chars >= maxChars) break;
    }
    return { frames, told };
  }

  #drop(count: number): number | undefined {
    const gone = this.#records.splice(0, count);
    this.#settled = Math.max(0, this.#settled - gone.length);
    this.#grow(-sizes(gone));
    return gone.at(-1)?.last;
  }

  /** Many small strings take far more memory than their text. */
  #merge(): void {
    const old = this.#records.slice(this.#settled, this.#settled + FRESH);
    const merged: LogRecord[] = [];
    for (let at = 0; at < old.length; ) {
      const head = old[at] as LogRecord;
      const run = [head];
      let size = head.size;
      for (let next = old[++at]; next !== undefined && isSameKind(head, next); next = old[++at]) {
        if (size + next.size > MERGED_CHARS) break;
        size += next.size;
        run.push(next);
      }
      merged.push(run.length === 1 ? head : join(run));
    }
    this.#records.splice(this.#settled, FRESH, ...merged);
    this.#settled += merged.length;
    this.#grow(sizes(merged) - sizes(old));
  }

  /** Index of the first record with events after a number. */
  #find(n: number): number {
    let low = 0;
    let high = this.#records.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#records[middle] as LogRecord).last > n) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #grow(change: number): void {
    this.#latestRead.forget();
    this.#size += change;
    this.#onSize(change);
  }
}
