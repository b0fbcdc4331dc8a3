/** Callers that wait for changes of a session. A commit that may concern them wakes them. */
export class Sleepers {
  readonly #wakers: Map<() => void, string> = new Map();

  /** Waits from now until woken, aborted or disposed. */
  sleep(id: string, signal: AbortSignal): { readonly woken: Promise<void> } & Disposable {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => {
      signal.removeEventListener('abort', wake);
      this.#wakers.delete(wake);
      resolve();
    };
    this.#wakers.set(wake, id);
    signal.addEventListener('abort', wake, { once: true });
    return { woken: promise, [Symbol.dispose]: wake };
  }

  /** The sessions that callers wait for. */
  get ids(): ReadonlySet<string> {
    return new Set(this.#wakers.values());
  }

  /** Wakes the waiters of the given sessions; null wakes all. */
  wake(sessions: readonly string[] | null): void {
    if (this.#wakers.size === 0) return;
    for (const [wake, id] of [...this.#wakers]) if (sessions === null || sessions.includes(id)) wake();
  }
}
