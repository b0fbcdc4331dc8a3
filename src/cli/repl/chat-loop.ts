import { oneLine } from '../../engine/commands/command-context.ts';
import { color } from '../terminal/colors.ts';
import { escapeForTerminal, say } from '../terminal/print.ts';
import type { LineSource } from './line-source.ts';

/** Answers lines, from a home or through a server. */
export interface Answerer {
  /** Runs before the first line is read. */
  begin?(running: AbortController): Promise<void>;
  /** @returns false after the last line. */
  answer(line: string, running: AbortController): Promise<boolean>;
  /** Stops what runs. @returns false if it was stopped before. */
  interrupt(running: AbortController): boolean;
  /** The chat ends: what runs is stopped, and nothing else is started. */
  leave?(): void;
}

const INTERRUPTED_EXIT = 130;
const SHOWN_CHARS = 60;

/**
 * Decides what Ctrl-C does. While an answer streams it stops the answer; pressed again before that has ended it leaves
 * the chat, and a third time it does not wait for the store to close.
 */
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
    if (running !== undefined && !this.#isLeaving && this.#answerer.interrupt(running)) return;
    if (key === 'escape') {
      if (this.#lines?.isAsking === true) this.#lines.interrupt();
    } else if (running === undefined) this.#lines?.interrupt();
    else if (!this.#isLeaving) this.#leave();
    // Everything is stored as it happens, so nothing that was acknowledged is lost.
    else process.exit(INTERRUPTED_EXIT);
  };

  /** @param first a message that is answered before the first line is read. */
  async run(lines: LineSource, first?: string): Promise<void> {
    this.#lines = lines;
    // They stay until the process ends: an impatient signal must not kill it while the store closes.
    process.on('SIGINT', () => this.interrupt());
    process.on('SIGTERM', () => this.#leave());
    await this.#run(async (running) => this.#answerer.begin?.(running));
    if (first !== undefined && !this.#isLeaving) {
      say(`${color('user', '>')} ${escapeForTerminal(first)}`);
      await this.#run((running) => this.#answerer.answer(first, running));
    }
    while (!this.#isLeaving) {
      const line = await lines.next();
      if (line === undefined) break;
      if (!(await this.#run((running) => this.#answerer.answer(line, running)))) break;
    }
    lines.close();
    for (const line of lines.unread) say(escapeForTerminal(`(not sent: ${oneLine(line, SHOWN_CHARS)})`));
  }

  async #run<T>(work: (running: AbortController) => Promise<T>): Promise<T> {
    this.#running = new AbortController();
    try {
      return await work(this.#running);
    } finally {
      this.#running = undefined;
    }
  }

  #leave(): void {
    this.#isLeaving = true;
    this.#answerer.leave?.();
    if (this.#running !== undefined) this.#answerer.interrupt(this.#running);
    this.#lines?.close();
  }
}
