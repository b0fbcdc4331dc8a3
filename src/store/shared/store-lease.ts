import { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { InboxItem } from '../port/inbox.ts';
import type { Lease, ReleaseOptions } from '../port/store.ts';

/** Default lifetime of a lease without a heartbeat. */
export const DEFAULT_LEASE_TTL_MS = 15_000;
/** Default time to wait for a lease that another holder has. */
export const DEFAULT_LEASE_WAIT_MS = 10_000;

export interface StoreLeaseOptions {
  /** Sends a heartbeat to the store. Resolves to false if this holder has lost the lease. */
  readonly beat: () => Promise<boolean>;
  readonly release: (options: ReleaseOptions) => Promise<InboxItem | null>;
  readonly sessionId: string;
  readonly epoch: number;
  readonly ttlMs: number;
  /** Called when the lease is released or lost, so that its heartbeat can stop. */
  readonly onOver: () => void;
}

const RETRY_MS = 50;

/**
 * Retries `acquire` for up to `waitMs` while another holder has the session. `acquire` receives the remaining time.
 */
export async function acquireInTime<T>(waitMs: number, acquire: (leftMs: number) => Promise<T>): Promise<T> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    try {
      return await acquire(Math.max(0, deadline - performance.now()));
    } catch (error) {
      const isHeld = error instanceof RepriseError && error.code === 'LEASE_HELD';
      if (!isHeld || performance.now() >= deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
}

/**
 * The exclusive right to run turns of a session. The store sends its heartbeats; losing the lease aborts the signal.
 */
export class StoreLease implements Lease {
  readonly sessionId: string;
  readonly epoch: number;
  readonly ttlMs: number;
  readonly #beat: StoreLeaseOptions['beat'];
  readonly #release: StoreLeaseOptions['release'];
  readonly #controller: AbortController = new AbortController();
  readonly #onOver: () => void;
  #over = false;

  constructor({ beat, release, sessionId, epoch, ttlMs, onOver }: StoreLeaseOptions) {
    this.#beat = beat;
    this.#release = release;
    this.sessionId = sessionId;
    this.epoch = epoch;
    this.ttlMs = ttlMs;
    this.#onOver = onOver;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  async renew(): Promise<void> {
    if (await this.#beat()) return;
    this.lose();
    throw this.#fenced();
  }

  async release({ handOver = false }: ReleaseOptions = {}): Promise<InboxItem | null> {
    if (this.#over) return null;
    const waiting = await this.#release({ handOver });
    if (waiting === null) this.#end();
    return waiting;
  }

  /** The store released it together with something else. */
  ended(): void {
    this.#end();
  }

  lose(): void {
    this.#end();
    this.#controller.abort(this.#fenced());
  }

  #fenced(): RepriseError {
    const { sessionId: id, epoch } = this;
    return failure('FENCED', 'session.fenced', { id }, { details: { epoch } });
  }

  #end(): void {
    this.#over = true;
    this.#onOver();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
