import { createInterface, type Interface } from 'node:readline';
import { escapeForTerminal, say } from '../terminal/print.ts';

/** Where the lines of a chat come from: a person at a terminal, or a pipe. */
export interface LineSource {
  /** Whether a question stands. While it does nothing runs, so an interrupt is an answer to it: no. */
  readonly isAsking: boolean;
  /** Undefined: there are no more. */
  next(): Promise<string | undefined>;
  confirm(question: string): Promise<boolean>;
  /** Lines that were typed and not read. */
  readonly unread: readonly string[];
  /** Ctrl-C while nothing runs. */
  interrupt(): void;
  close(): void;
}

export function isYes(answer: string | undefined): boolean {
  return answer !== undefined && /^y(es)?$/i.test(answer.trim());
}

/** One line, one message; each is read when the one before is answered. */
export class PipedLines implements LineSource {
  readonly #readline: Interface;
  readonly #lines: AsyncIterator<string>;
  readonly unread: readonly string[] = [];
  isAsking: boolean = false;

  constructor(input: NodeJS.ReadableStream) {
    this.#readline = createInterface({ input, terminal: false });
    this.#lines = this.#readline[Symbol.asyncIterator]();
  }

  async next(): Promise<string | undefined> {
    const { value, done } = await this.#lines.next();
    return done === true ? undefined : value;
  }

  /** Input that ends at the question is no yes. */
  async confirm(question: string): Promise<boolean> {
    say(`${escapeForTerminal(question)} [y/N]`);
    this.isAsking = true;
    const answer = await this.next();
    this.isAsking = false;
    return isYes(answer);
  }

  interrupt(): void {
    this.close();
  }

  close(): void {
    this.#readline.close();
  }
}
