import { RepriseError } from '../../errors.ts';
import type { Lease, Store } from '../../store/port/store.ts';
import type { BegunTurn, ChangedRows, TurnPlan } from '../../store/port/turns.ts';

export interface LaneOptions {
  readonly store: Store;
  readonly sessionId: string;
  /** Called when the lease could not be given back because a message waits. */
  readonly onWaiting: () => void;
}

/** A turn that has begun, with the lease under which it runs. */
export type HeldTurn = BegunTurn & { readonly lease: Lease };

export type BeginTurn = (plan: Omit<TurnPlan, 'lease'>) => Promise<HeldTurn | ChangedRows>;

/**
 * One thing at a time in one session of this process: turns, compactions and undos stand in one line, and while
 * anybody stands in it the session's lease is held. Other processes are kept out by the lease alone (P5).
 */
export class SessionLane {
  readonly #options: LaneOptions;
  #last: Promise<unknown> = Promise.resolve();
  #standing = 0;
  #lease: Lease | undefined;
  #isLettingGo = false;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  get isBusy(): boolean {
    return this.#standing > 0;
  }

  /** Somebody stands in line, or the lease is kept for a message that waits. */
  get isHeld(): boolean {
    return this.#standing > 0 || this.#lease !== undefined;
  }

  /** Nothing is held, nor may come back because it could not be let go. */
  get isAtRest(): boolean {
    return !this.isHeld && !this.#isLettingGo;
  }

  /** A lease that was kept for a message nobody waits for any more. In line: whoever comes next finds it kept or gone. */
  giveBack(): Promise<void> {
    const given = this.#last.then(async () => {
      if (this.#standing === 0) await this.#letGo();
    });
    this.#last = given.catch(() => undefined); // told to its own caller
    return given;
  }

  /** Waits for its turn, then for the lease; `waitMs` 0 throws LEASE_HELD at once when another process has it. */
  run<T>(work: (lease: Lease) => Promise<T>, { waitMs }: { readonly waitMs?: number } = {}): Promise<T> {
    return this.#inLine(async () => work(await this.#hold(waitMs)));
  }

  /** For a turn of the model: it takes the lease when it begins, in the same step. */
  runTurn<T>(work: (begin: BeginTurn) => Promise<T>): Promise<T> {
    return this.#inLine(() => work((plan) => this.#begin(plan)));
  }

  /** Nobody else stands in line, so the turn that ends can release the lease. */
  get isLast(): boolean {
    return this.#standing === 1;
  }

  /** The turn that ended has released the lease. */
  released(): void {
    this.#lease = undefined;
  }

  async #begin(plan: Omit<TurnPlan, 'lease'>): Promise<HeldTurn | ChangedRows> {
    const { store, sessionId } = this.#options;
    if (this.#lease?.signal.aborted === true) this.#lease = undefined;
    const held = this.#lease;
    const answer = await store.turns.begin(sessionId, {
      ...plan,
      lease: held === undefined ? {} : { epoch: held.epoch },
    });
    if ('openRows' in answer) return answer;
    const lease = answer.lease ?? held;
    if (lease === undefined) throw new TypeError('a turn began without a lease');
    this.#lease = lease;
    return { ...answer, lease };
  }

  #inLine<T>(work: () => Promise<T>): Promise<T> {
    this.#standing++;
    const result = this.#last.then(async () => {
      try {
        return await work();
      } catch (error) {
        // Over, whether or not its signal has said so: the next in line needs a new one.
        if (error instanceof RepriseError && error.code === 'FENCED') this.#lease = undefined;
        throw error;
      } finally {
        this.#standing--;
        if (this.#standing === 0) await this.#letGo();
      }
    });
    this.#last = result.catch(() => undefined); // told to its own caller; the next in line only waits
    return result;
  }

  /** Resolves when nobody stands in line. */
  async idle(): Promise<void> {
    while (this.#standing > 0) await this.#last;
  }

  async #hold(waitMs: number | undefined): Promise<Lease> {
    const { store, sessionId } = this.#options;
    if (this.#lease?.signal.aborted === true) this.#lease = undefined;
    this.#lease ??= await store.lease(sessionId, waitMs === undefined ? {} : { waitMs });
    return this.#lease;
  }

  async #letGo(): Promise<void> {
    const lease = this.#lease;
    if (lease === undefined) return;
    this.#lease = undefined;
    this.#isLettingGo = true;
    try {
      const waiting = await lease.release();
      if (waiting === null) return;
      this.#lease = lease;
      this.#options.onWaiting();
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      // Lost, or its store closed: there is nothing to give back. Otherwise it is still ours, and nobody else can
      // have the session until it is given back: the next in line does that.
      if (!lease.signal.aborted) this.#lease = lease;
    } finally {
      this.#isLettingGo = false;
    }
  }
}
