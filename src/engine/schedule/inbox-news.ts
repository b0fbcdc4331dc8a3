/** Wakes whoever waits for something to change in a session's inbox, by this process or another. */
export class InboxNews {
  readonly #waiting: Map<string, Set<() => void>> = new Map();

  tell(sessionId: string): void {
    const waiting = this.#waiting.get(sessionId);
    this.#waiting.delete(sessionId);
    for (const wake of waiting ?? []) wake();
  }

  /** Resolves with the next change, or when the signal aborts. Asked before looking, nothing is missed. */
  next(sessionId: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const waiting = this.#waiting.get(sessionId) ?? new Set();
      this.#waiting.set(sessionId, waiting);
      const wake = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        waiting.delete(wake);
        if (waiting.size === 0 && this.#waiting.get(sessionId) === waiting) this.#waiting.delete(sessionId);
        resolve();
      };
      waiting.add(wake);
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
