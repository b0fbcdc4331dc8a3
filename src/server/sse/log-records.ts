import type { Frame } from './frame.ts';
import { LatestRead, type ReadEvents } from './latest-read.ts';
import { isSameKind, join, type LogRecord, restOf, sizeOf, sizes, type ToldRecord } from './log-record.ts';

/** Fresh events are told one by one; behind so many they are put together. */
const FRESH = 512;
const MERGED_CHARS = 16 * 1024;

/** The events of a log in the order of their numbers, and what they take. */
export class LogRecords {
  readonly #onSize: (change: number) => void;
  readonly #latestRead: LatestRead = new LatestRead();
  #records: LogRecord[] = [];
  /** So many of them are as they will stay. */
  #settled = 0;
  #size = 0;
  #told = 0;

  constructor(onSize: (change: number) => void) {
    this.#onSize = onSize;
  }

  get size(): number {
    return this.#size;
  }

  /** How much was ever told. */
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

  /** The one a number is in, or the next. */
  at(n: number): LogRecord | undefined {
    return this.#records[this.#find(n - 1)];
  }

  /** Behind a number, up to another. */
  *between(after: number, until: number): Generator<LogRecord, void, undefined> {
    for (let at = this.#find(after); at < this.#records.length; at++) {
      const record = this.#records[at] as LogRecord;
      if (record.first > until) return;
      yield record;
    }
  }

  /** The first behind an entry and a number. */
  firstFrom(seq: number, after: number): LogRecord | undefined {
    return this.#records.find((record) => record.seq >= seq && record.first > after);
  }

  /**
   * The next behind a number, about `maxChars` of them. All who are at the same place are given the same list, so that
   * it is made and encoded once.
   */
  read(after: number, until: number, maxChars: number): ReadEvents {
    return this.#latestRead.find([after, until, maxChars], () => this.#read(after, until, maxChars));
  }

  /** Nobody else will ask for what was read last. */
  forgetRead(): void {
    this.#latestRead.forget();
  }

  /** Those behind older entries; answers with the number of the last of them. */
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

  /** Many small strings cost far more than what they say. */
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

  /** Of the first record with something behind a number. */
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
