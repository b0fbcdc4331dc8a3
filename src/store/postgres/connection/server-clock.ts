/** How long a good estimate is kept against worse ones: clocks drift. */
const KEPT_MS = 60_000;

/** What the server's clock says, without asking it: no earlier than `earliest`, no later than `latest`. */
export class ServerClock {
  #offsetMs = 0;
  #errorMs = Number.POSITIVE_INFINITY;
  #learntAt = 0;

  /** From an answer that came with the server's time, asked and answered at these times of ours. */
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
