import type { LineSource } from './line-source.ts';

/** Who answers lines, here or on a server. */
export interface Answerer {
  /** False: it was the last line. */
  answer(line: string, running: AbortController): Promise<boolean>;
}

const INTERRUPTED_EXIT = 130;

/** Who may stop what. The first Ctrl-C stops the turn and keeps what arrived, the second leaves, a third does not wait. */
export class ChatLoop {
  readonly #answerer: Answerer;
  #lines: LineSource | undefined;
  #running: AbortController | undefined;
  #isLeaving = false;

  constructor(answerer: Answerer) {
    this.#answerer = answerer;
  }

  readonly interrupt = (key: 'ctrl-c' | 'escape' = 'ctrl-c'): void => {
    const running = this.#lines?.isAsking === true ? undefined : this.#running;
    if (running !== undefined && !running.signal.aborted) running.abort();
    else if (key === 'escape') {
      if (this.#lines?.isAsking === true) this.#lines.interrupt();
    } else if (running === undefined) this.#lines?.interrupt();
    else if (!this.#isLeaving) this.#leave();
    // Everything is stored as it happens, so nothing that was acknowledged is lost.
    else process.exit(INTERRUPTED_EXIT);
  };

  async run(lines: LineSource): Promise<void> {
    this.#lines = lines;
    // They stay until the process ends: an impatient signal must not kill it while the store closes.
    process.on('SIGINT', () => this.interrupt());
    process.on('SIGTERM', () => this.#leave());
    for (let line = await lines.next(); line !== undefined; line = await lines.next()) {
      this.#running = new AbortController();
      const goesOn = await this.#answerer.answer(line, this.#running);
      this.#running = undefined;
      if (!goesOn || this.#isLeaving) break;
    }
    lines.close();
  }

  #leave(): void {
    this.#isLeaving = true;
    this.#running?.abort();
    this.#lines?.close();
  }
}
