import type { TurnEvent } from '../../engine/events.ts';
import type { TurnStream } from '../../engine/turn/turn-stream.ts';

/**
 * An accepted message and its turn. Its events are read as they come and kept until they are shown, because a message
 * typed during another answer may join that turn, and the chat must know it at once.
 */
export class SentMessage {
  readonly text: string;
  readonly turn: TurnStream;
  readonly controller: AbortController;
  isStopped: boolean = false;
  /** Back in the input line, so its stream shows nothing. */
  isWithdrawn: boolean = false;
  readonly #onBegin: (message: SentMessage, turnId: string) => void;
  #turnId: string | undefined;
  readonly #events: TurnEvent[] = [];
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(
    { text, turn, controller }: Pick<SentMessage, 'text' | 'turn' | 'controller'>,
    onBegin: (message: SentMessage, turnId: string) => void = () => undefined,
  ) {
    this.text = text;
    this.turn = turn;
    this.controller = controller;
    this.#onBegin = onBegin;
    void this.#read();
  }

  /** Its turn runs or has run, here or in another process: the message is stored, so stopping the turn does not lose it. */
  get hasBegun(): boolean {
    return this.#turnId !== undefined;
  }

  /** It waits for its turn. */
  get isQueued(): boolean {
    return !this.hasBegun && !this.#isOver && !this.isStopped && !this.isWithdrawn;
  }

  /** Reads each event once. Throws what the stream ended with. */
  async *events(): AsyncGenerator<TurnEvent> {
    for (;;) {
      const event = this.#events.shift();
      if (event !== undefined) yield event;
      else if (this.#failure !== undefined) throw this.#failure.error;
      else if (this.#isOver) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  async #read(): Promise<void> {
    try {
      for await (const event of this.turn) {
        if (event.type === 'turn_start') {
          this.#turnId = event.turnId;
          this.#onBegin(this, event.turnId);
        }
        this.#events.push(event);
        this.#wake?.();
      }
    } catch (error) {
      this.#failure = { error };
    }
    this.#isOver = true;
    this.#wake?.();
  }
}
