import { createHash } from 'node:crypto';
import { createRandom, type Random } from '../../testing/crash/random.ts';

/** Whose event it is: those of the dead never come, those of the paused wait. */
export interface Owner {
  readonly name: string;
  readonly state: 'up' | 'paused' | 'dead';
  /** Called instead of the event while its owner is paused. */
  park(event: Event): void;
}

export interface Event {
  time: number;
  readonly order: number;
  readonly owner: Owner | undefined;
  readonly run: () => unknown;
  isOff: boolean;
}

/** Where virtual time begins. */
const EPOCH_MS = Date.parse('2026-01-01T00:00:00.000Z');

/**
 * The only source of order in a simulation: one thing happens, everything comes to rest, then the next thing happens.
 * What comes next is decided by virtual times, and these by a seeded generator, so a seed is a history.
 */
export class Scheduler {
  readonly random: Random;
  readonly trace: string[] = [];
  #now = 0;
  #order = 0;
  #events = 0;
  readonly #heap: Event[] = [];

  constructor(seed: number) {
    this.random = createRandom(seed);
  }

  /** Virtual milliseconds since the beginning. */
  get now(): number {
    return this.#now;
  }

  get date(): Date {
    return new Date(EPOCH_MS + this.#now);
  }

  /** How many things have happened. */
  get events(): number {
    return this.#events;
  }

  get traceHash(): string {
    return createHash('sha256').update(this.trace.join('\n')).digest('hex').slice(0, 16);
  }

  note(line: string): void {
    this.trace.push(`${this.#now} ${line}`);
  }

  in(ms: number, owner: Owner | undefined, run: () => unknown): Event {
    const event = { time: this.#now + Math.max(0, ms), order: this.#order++, owner, run, isOff: false };
    this.#push(event);
    return event;
  }

  /** What waited while its owner was paused happens now, or when it was to. */
  again(event: Event): void {
    event.time = Math.max(event.time, this.#now);
    this.#push(event);
  }

  /** False: nothing will ever happen again. */
  async step(): Promise<boolean> {
    for (;;) {
      const event = this.#pop();
      if (event === undefined) return false;
      const { owner, run } = event;
      if (event.isOff || owner?.state === 'dead') continue;
      if (owner?.state === 'paused') {
        owner.park(event);
        continue;
      }
      this.#now = event.time;
      this.#events++;
      await run();
      await rest();
      return true;
    }
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const above = (at - 1) >> 1;
      const parent = heap[above] as Event;
      if (isBefore(parent, event)) break;
      heap[at] = parent;
      at = above;
    }
    heap[at] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1] as Event, heap[below] as Event)) below++;
      const child = heap[below] as Event;
      if (isBefore(last, child)) break;
      heap[at] = child;
      at = below;
    }
    heap[at] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.time < b.time || (a.time === b.time && a.order < b.order);
}

/** Whatever can run without anything else happening has run: all of it is promises, and they go before a tick. */
function rest(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
