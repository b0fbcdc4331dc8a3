/** How long a good estimate is kept in favor of worse ones, because clocks drift. */
const KEPT_MS = 60_000;

/** Estimates the server's clock without a query: it is between `earliest` and `latest`. */
export class ServerClock {
  #offsetMs = 0;
  #errorMs = Number.POSITIVE_INFINITY;
  #learntAt = 0;

  /** Improves the estimate with an answer that contains the server's time. The other times are ours. */
  learn(serverMs: number, askedAt: number, answeredAt: number): void {
    const errorMs = (answeredAt - askedAt) / 2;
    if (errorMs > this.#errorMs && answeredAt - this.#learntAt < KEPT_MS) return;
    this.#offsetMs = serverMs - (askedAt + answeredAt) / 2;
    this.#errorMs = errorMs;
    this.#learntAt = answeredAt;
  }

  get earliest(): number {
    return Date.now() + this.#offsetMs - this.#errorMs;
  }

  get latest(): number {
    return Date.now() + this.#offsetMs + this.#errorMs;
  }
}
