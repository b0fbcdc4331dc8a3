import { isTerminal, type SessionEvent, type TurnEvent } from './events.ts';

const MAX_WAITING = 10_000;
const AT_ONCE = 1000;

/**
 * Emits events to the listeners of this process. The queue of a slow listener is bounded: it drops the oldest deltas
 * first, because the stored entries repeat them, then other events, but never the end of a turn.
 */
export class Hub {
  readonly #listeners: Set<Listener> = new Set();
  readonly #taps: Set<(event: SessionEvent) => void> = new Set();
  readonly #followers: Map<string, Set<(event: SessionEvent) => void>> = new Map();

  publish(event: SessionEvent): void {
    for (const tap of this.#taps) tap(event);
    for (const id of [event.sessionId, event.inboxId])
      for (const follow of (id === undefined ? undefined : this.#followers.get(id)) ?? []) follow(event);
    for (const listener of this.#listeners) listener.offer(event);
  }

  /** Calls back for every event as it is emitted, so that none is lost; the callback must not throw. */
  tap(tap: (event: SessionEvent) => void): () => void {
    this.#taps.add(tap);
    return () => this.#taps.delete(tap);
  }

  /**
   * Calls `follow` with the events of one session, or of one message, at the moment they are published. It must not
   * throw. An event costs the same however many other sessions are followed.
   * @returns how to stop.
   */
  follow(id: string, follow: (event: SessionEvent) => void): () => void {
    const followers = this.#followers.get(id) ?? new Set();
    this.#followers.set(id, followers);
    followers.add(follow);
    return () => {
      followers.delete(follow);
      if (followers.size === 0 && this.#followers.get(id) === followers) this.#followers.delete(id);
    };
  }

  /** Events from now on that pass the filter, until the subscription is closed or its signal aborts. */
  subscribe(
    wants: (event: SessionEvent) => boolean,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Subscription {
    const close = (): void => listener.close();
    const listener = new Listener(wants, () => {
      this.#listeners.delete(listener);
      // The signal may live as long as the process and see many listeners.
      signal?.removeEventListener('abort', close);
    });
    this.#listeners.add(listener);
    signal?.addEventListener('abort', close, { once: true });
    if (signal?.aborted === true) close();
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
    if (this.#waiting.length > MAX_WAITING && !this.#letGo(({ type }) => type.endsWith('_delta')))
      this.#letGo((waiting) => !isTerminal(waiting));
    this.#wake?.();
  }

  close(): void {
    this.#closed = true;
    this.#onClose();
    this.#wake?.();
  }

  /**
   * Drops the oldest events of a kind, many at once, because finding them costs a pass over the queue. @returns false
   * if the queue has no such events.
   */
  #letGo(isOfKind: (event: TurnEvent) => boolean): boolean {
    const before = this.#waiting.length;
    let left = AT_ONCE;
    this.#waiting = this.#waiting.filter(({ event }) => !(left > 0 && isOfKind(event) && left-- > 0));
    return this.#waiting.length < before;
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
