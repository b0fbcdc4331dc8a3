import { RepriseError } from '../../../errors.ts';
import type { RebuildProgress } from '../../port/store.ts';
import { storeClosed } from '../../rules/refusals.ts';
import type { Database } from '../../sqlite/database.ts';
import { storeError } from '../../sqlite/store-error.ts';
import { CatchUp, type CatchUpOptions } from './catch-up.ts';
import type { Need } from './needs.ts';

export interface RebuildOptions extends CatchUpOptions {
  /** Everything is known and compared. */
  readonly onOver: () => void;
  /** A slice failed; it is tried again. */
  readonly onFailure: (error: RepriseError) => void;
}

interface Waiting {
  readonly need: Need;
  readonly done: ((error?: RepriseError) => void)[];
}

/** Work between two looks at the queue of requests, and the pause in which other processes get the lock. */
const SLICE_MS = 8;
const PAUSE_MS = 2;
/** The pause while nobody waits: half of a core is left to whatever the process was started for. */
const IDLE_PAUSE_MS = 8;
const REST_MS = 1000;
const MAX_REST_MS = 60_000;

/**
 * Makes the index agree with the transcripts, beside the other work of the thread: each slice is a short transaction of
 * its own. Whoever needs something before its turn has it done first, so nobody is told that a session or the active
 * session of a key does not exist while its transcript waits to be read. On an ordinary day all it does is to list
 * folders and to compare sizes.
 */
export class Rebuild {
  readonly #options: RebuildOptions;
  readonly #db: Database;
  readonly #catchUp: CatchUp;
  readonly #waiting: Map<string, Waiting> = new Map();
  #isOver = false;
  #isResting = false;
  #restMs = REST_MS;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RebuildOptions) {
    this.#options = options;
    this.#db = options.db;
    this.#catchUp = new CatchUp(options);
    this.#schedule(0);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  progress(): RebuildProgress | undefined {
    return this.#isOver ? undefined : this.#catchUp.progress();
  }

  whenReady(need: Need, done: (error?: RepriseError) => void): void {
    // A caller that only asks for progress must not wake a rebuild that backs off: that would delay its retry forever.
    const asksForNames = Object.keys(need).length === 0;
    if (this.#isOver || (asksForNames && this.#catchUp.isListed)) {
      done();
      return;
    }
    const name = JSON.stringify(need);
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) waiting.done.push(done);
    else this.#waiting.set(name, { need, done: [done] });
    if (this.#isResting) this.#schedule(0);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#isOver = true;
    this.#catchUp.forget();
    this.#rejectWaiting(storeClosed());
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#slice(), delayMs);
  }

  #slice(): void {
    const ready: Waiting[] = [];
    let hasMore = true;
    try {
      // A disk that kept something back is asked for all of it again; it may be well by now.
      if (this.#isResting && this.#waiting.size === 0) this.#catchUp.forget();
      this.#isResting = false;
      if (this.#catchUp.list(performance.now() + SLICE_MS))
        hasMore = this.#db.transaction(() => this.#run(ready), { lazy: true });
    } catch (error) {
      const failure = storeError(error);
      // Nothing of the slice happened, whatever we remember of it: from the start, which costs little.
      this.#catchUp.forget();
      this.#options.onFailure(failure);
      for (const { done } of ready) for (const tell of done) tell(failure);
      this.#rejectWaiting(failure);
      this.#rest();
      return;
    }
    this.#isOver = !hasMore && !this.#catchUp.hasFailed;
    // Only now: who is told may look at once, and with another connection.
    for (const { done } of ready) for (const tell of done) tell();
    if (this.#isOver) this.#options.onOver();
    else if (this.#waiting.size > 0) this.#schedule(PAUSE_MS);
    else if (hasMore) this.#schedule(IDLE_PAUSE_MS);
    else this.#rest();
  }

  /** Inside a transaction. False when nothing is left to do. */
  #run(ready: Waiting[]): boolean {
    const until = performance.now() + SLICE_MS;
    let hasMore = true;
    while (hasMore && performance.now() < until) {
      const [name] = this.#waiting.keys();
      const waiting = name === undefined ? undefined : this.#waiting.get(name);
      if (name === undefined || waiting === undefined) {
        hasMore = this.#catchUp.advanceAll();
        continue;
      }
      // To the back, so that a long transcript does not keep the others waiting.
      this.#waiting.delete(name);
      this.#waiting.set(name, waiting);
      try {
        if (!this.#catchUp.advance(waiting.need)) continue;
        ready.push(waiting);
      } catch (error) {
        if (!(error instanceof RepriseError)) throw error;
        for (const tell of waiting.done) setImmediate(tell, error);
      }
      this.#waiting.delete(name);
    }
    this.#catchUp.settle(!hasMore);
    return hasMore;
  }

  #rest(): void {
    this.#isResting = true;
    this.#schedule(this.#restMs);
    this.#restMs = Math.min(2 * this.#restMs, MAX_REST_MS);
  }

  #rejectWaiting(error: RepriseError): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { done } of waiting) for (const tell of done) tell(error);
  }
}
