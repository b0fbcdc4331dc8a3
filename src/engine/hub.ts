import type { SessionEvent } from './events.ts';

const MAX_WAITING = 10_000;

/**
 * Hands events to whoever listens in this process. A listener that does not read keeps a bounded queue: of
 * running deltas the oldest are let go, because the stored entries say it all again; terminal events never are.
 */
export class Hub {
  readonly #listeners: Set<Listener> = new Set();
  readonly #taps: Set<(event: SessionEvent) => void> = new Set();

  publish(event: SessionEvent): void {
    for (const tap of this.#taps) tap(event);
    for (const listener of this.#listeners) listener.offer(event);
  }

  /** Every event in the moment it is told, so that none can be lost on the way; a tap must not throw. */
  tap(tap: (event: SessionEvent) => void): () => void {
    this.#taps.add(tap);
    return () => this.#taps.delete(tap);
  }

  /** Events from now on that pass the filter, until the subscription is closed or its signal aborts. */
  subscribe(
    wants: (event: SessionEvent) => boolean,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Subscription {
    const listener = new Listener(wants, () => this.#listeners.delete(listener));
    this.#listeners.add(listener);
    signal?.addEventListener('abort', () => listener.close(), { once: true });
    if (signal?.aborted === true) listener.close();
    return listener;
  }
}

export interface Subscription extends AsyncIterable<SessionEvent> {
  close(): void;
}

class Listener implements Subscription {
  readonly #wants: (event: SessionEvent) => boolean;
  readonly #onClose: () => void;
  #waiting: SessionEvent[] = [];
  #wake: (() => void) | undefined;
  #closed = false;

  constructor(wants: (event: SessionEvent) => boolean, onClose: () => void) {
    this.#wants = wants;
    this.#onClose = onClose;
  }

  offer(event: SessionEvent): void {
    if (this.#closed || !this.#wants(event)) return;
    this.#waiting.push(event);
    if (this.#waiting.length > MAX_WAITING) {
      const droppable = this.#waiting.findIndex(({ event: { type } }) => type.endsWith('_delta'));
      this.#waiting.splice(Math.max(0, droppable), 1);
    }
    this.#wake?.();
  }

  close(): void {
    this.#closed = true;
    this.#onClose();
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<SessionEvent> {
    try {
      for (;;) {
        const waiting = this.#waiting;
        this.#waiting = [];
        yield* waiting;
        if (this.#waiting.length > 0) continue;
        if (this.#closed) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    } finally {
      this.close();
    }
  }
}
