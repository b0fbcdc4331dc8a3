import { RepriseError } from '../../../errors.ts';
import type { RebuildProgress } from '../../port/store.ts';
import { storeClosed } from '../../rules/refusals.ts';
import type { Database } from '../../sqlite/database.ts';
import { storeError } from '../../sqlite/store-error.ts';
import { CatchUp, type CatchUpOptions } from './catch-up.ts';
import type { Need } from './needs.ts';

export interface RebuildOptions extends CatchUpOptions {
  /** Called when everything is read and compared. */
  readonly onOver: () => void;
  /** Called when a slice failed; the rebuild retries it. */
  readonly onFailure: (error: RepriseError) => void;
}

interface Waiting {
  readonly need: Need;
  readonly done: ((error?: RepriseError) => void)[];
}

/**
 * Duration of a slice between two checks of the request queue, and the pause in which other processes can take the
 * lock.
 */
const SLICE_MS = 8;
const PAUSE_MS = 2;
/** The pause while no request waits: it leaves half of a core to the program. */
const IDLE_PAUSE_MS = 8;
const REST_MS = 1000;
const MAX_REST_MS = 60_000;

/**
 * Synchronizes the index with the transcripts beside the thread's other work, in short transactions. A request that
 * needs something earlier gets it first, so no caller wrongly learns that a session does not exist, or that a key
 * has no active session, while its transcript is still unread. Normally it only lists folders and compares sizes.
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
    // A caller that only asks for progress or a list must not wake a rebuild that backs off: that would delay its retry forever.
    const asksForNames = Object.keys(need).length === 0;
    const isReady = need.headers === true ? this.#catchUp.hasHeaders : asksForNames && this.#catchUp.hasNames;
    if (this.#isOver || isReady) {
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
      // After a disk failure, everything is requested again; the disk may work by now.
      if (this.#isResting && this.#waiting.size === 0) this.#catchUp.forget();
      this.#isResting = false;
      if (this.#catchUp.list(performance.now() + SLICE_MS))
        hasMore = this.#db.transaction(() => this.#run(ready), { lazy: true });
    } catch (error) {
      const failure = storeError(error);
      // The slice was rolled back, so the state in memory is wrong. Start over, which is cheap.
      this.#catchUp.forget();
      this.#options.onFailure(failure);
      for (const { done } of ready) for (const tell of done) tell(failure);
      this.#rejectWaiting(failure);
      this.#rest();
      return;
    }
    this.#isOver = !hasMore && !this.#catchUp.hasFailed;
    // After the commit only: a notified caller may read at once over another connection.
    for (const { done } of ready) for (const tell of done) tell();
    if (this.#isOver) this.#options.onOver();
    else if (this.#waiting.size > 0) this.#schedule(PAUSE_MS);
    else if (hasMore) this.#schedule(IDLE_PAUSE_MS);
    else this.#rest();
  }

  /** Works inside a transaction. @returns false when nothing is left to do. */
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
      // Move it to the end of the queue, so that a long transcript does not delay the others.
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
