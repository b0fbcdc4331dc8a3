import type { InboxChange } from '../../store/port/inbox.ts';

interface Waiter {
  readonly wants: (change: InboxChange) => boolean;
  readonly wake: () => void;
}

/** Notifies waiters when a session's inbox changes, whether this process or another changed it. */
export class InboxSignal {
  /** Changes are reported now. If not, only a look at the store shows them. */
  isLive = false;
  readonly #waiting: Map<string, Set<Waiter>> = new Map();

  notify(change: InboxChange): void {
    for (const { wants, wake } of this.#waiting.get(change.sessionId) ?? []) if (wants(change)) wake();
  }

  /**
   * Resolves on the next change that `wants` accepts, or on abort. Subscribe before reading the inbox, or a change can
   * be missed.
   */
  wait(
    sessionId: string,
    signal: AbortSignal,
    wants: (change: InboxChange) => boolean = () => true,
  ): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const waiting = this.#waiting.get(sessionId) ?? new Set();
      this.#waiting.set(sessionId, waiting);
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        waiting.delete(waiter);
        if (waiting.size === 0 && this.#waiting.get(sessionId) === waiting) this.#waiting.delete(sessionId);
        resolve();
      };
      const waiter = { wants, wake };
      waiting.add(waiter);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}
