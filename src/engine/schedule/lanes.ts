import { configFault } from '../check-config.ts';

/** How many turns may run at once in this process, by what they are for. */
export interface LaneLimits {
  readonly turns: number;
  readonly children: number;
  readonly background: number;
}

export type LaneName = keyof LaneLimits;

export const DEFAULT_LANE_LIMITS: LaneLimits = { turns: 16, children: 8, background: 2 };

/** A slot in a lane. A turn that waits for another session's turn returns it meanwhile, so that lanes cannot deadlock. */
export interface Slot extends Disposable {
  /** Runs `work` without the place, then waits for one again. */
  aside<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * First come, first served: a session stands in line again after each turn, so one with a hundred messages and one
 * with a single message get their turns alike. Children have a lane of their own: parents that fill theirs and wait
 * for children cannot keep them from running.
 */
export class Lanes {
  readonly #lanes: Readonly<Record<LaneName, Lane>>;

  constructor(limits: Partial<LaneLimits> = {}) {
    const lane = (name: LaneName): Lane => new Lane(name, limits[name] ?? DEFAULT_LANE_LIMITS[name]);
    this.#lanes = { turns: lane('turns'), children: lane('children'), background: lane('background') };
  }

  /** Rejects with the signal's reason when that aborts first. */
  async enter(name: LaneName, signal?: AbortSignal): Promise<Slot> {
    const lane = this.#lanes[name];
    await lane.enter(signal);
    return new Place(lane);
  }

  /** How many run and wait, for operators. */
  stats(): Readonly<Record<LaneName, { readonly running: number; readonly waiting: number }>> {
    const { turns, children, background } = this.#lanes;
    return { turns: turns.stats(), children: children.stats(), background: background.stats() };
  }
}

/**
 * Calls of one round may wait side by side: the first returns the slot, the last takes one again. A call that outlives
 * its turn may end later, when there is no slot to return.
 */
class Place implements Slot {
  readonly #lane: Lane;
  #away = 0;
  #isIn = true;
  #isOver = false;
  #entering: Promise<void> | undefined;

  constructor(lane: Lane) {
    this.#lane = lane;
  }

  async aside<T>(work: () => Promise<T>): Promise<T> {
    this.#away++;
    this.#leave();
    try {
      return await work();
    } finally {
      if (--this.#away === 0 && !this.#isOver) await this.#enter();
    }
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#leave();
  }

  #leave(): void {
    if (!this.#isIn) return;
    this.#isIn = false;
    this.#lane.leave();
  }

  #enter(): Promise<void> {
    this.#entering ??= this.#lane.enter().then(() => {
      this.#entering = undefined;
      this.#isIn = true;
      if (this.#isOver || this.#away > 0) this.#leave();
    });
    return this.#entering;
  }
}

class Lane {
  readonly #limit: number;
  readonly #waiting: Set<() => void> = new Set();
  #running = 0;

  constructor(name: LaneName, limit: number) {
    if (!Number.isInteger(limit) || limit < 1)
      throw configFault(`lanes.${name}`, limit, { is: 'integer', min: 1 });
    this.#limit = limit;
  }

  enter(signal?: AbortSignal): Promise<void> {
    if (this.#running < this.#limit) {
      this.#running++;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.delete(start);
        reject(signal?.reason);
      };
      const start = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      if (signal?.aborted === true) return onAbort();
      this.#waiting.add(start);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** The place goes to the next in line without becoming free in between. */
  leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#running--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }

  stats(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running, waiting: this.#waiting.size };
  }
}
