/** Who waits for something new in a session; woken by a commit that may concern them. */
export class Sleepers {
  readonly #wakers: Map<() => void, string> = new Map();

  /** Asleep from now on, until woken, aborted or disposed of. */
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

  /** What they wait for. */
  get ids(): ReadonlySet<string> {
    return new Set(this.#wakers.values());
  }

  /** Those of the named sessions; null: anything may have changed. */
  wake(sessions: readonly string[] | null): void {
    if (this.#wakers.size === 0) return;
    for (const [wake, id] of [...this.#wakers]) if (sessions === null || sessions.includes(id)) wake();
  }
}
