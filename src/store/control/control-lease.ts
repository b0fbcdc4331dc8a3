import { RepriseError } from '../../errors.ts';
import type { InboxItem, Lease, ReleaseOptions } from '../store.ts';
import type { ThreadClient } from './thread-client.ts';

export interface ControlLeaseOptions {
  readonly writer: ThreadClient;
  readonly sessionId: string;
  readonly epoch: number;
  readonly ttlMs: number;
  /** It was released or lost: nobody has to keep it any more. */
  readonly onOver: () => void;
}

/** The right to run turns. The writer thread keeps its heart beating; losing it aborts the signal. */
export class ControlLease implements Lease {
  readonly sessionId: string;
  readonly epoch: number;
  readonly ttlMs: number;
  readonly #writer: ThreadClient;
  readonly #controller: AbortController = new AbortController();
  readonly #onOver: () => void;
  #over = false;

  constructor({ writer, sessionId, epoch, ttlMs, onOver }: ControlLeaseOptions) {
    this.#writer = writer;
    this.sessionId = sessionId;
    this.epoch = epoch;
    this.ttlMs = ttlMs;
    this.#onOver = onOver;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  async renew(): Promise<void> {
    const isOurs = await this.#writer.call<boolean>('beat', { id: this.sessionId, epoch: this.epoch });
    if (isOurs) return;
    this.lose();
    throw new RepriseError('FENCED', `the lease of session ${this.sessionId} is lost`, {
      details: { epoch: this.epoch },
    });
  }

  async release({ handOver = false }: ReleaseOptions = {}): Promise<InboxItem | null> {
    if (this.#over) return null;
    const waiting = await this.#writer.call<InboxItem | null>('release', {
      id: this.sessionId,
      epoch: this.epoch,
      handOver,
    });
    if (waiting === null) this.#end();
    return waiting;
  }

  lose(): void {
    this.#end();
    this.#controller.abort(new RepriseError('FENCED', `the lease of session ${this.sessionId} is lost`));
  }

  #end(): void {
    this.#over = true;
    this.#onOver();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
