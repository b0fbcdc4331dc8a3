import type { InboxItem } from '../store/store.ts';
import type { Clock, TimerHandle } from './clock.ts';

const FIRST_MS = 1000;
const MAX_MS = 30_000;

export interface RoomWaitOptions {
  readonly clock: Clock;
  /** Time to try again. */
  readonly onOver: () => void;
}

/**
 * The message of a session that was accepted and cannot be said because the disk is full. Its row stays open, and it is
 * tried again, each time later than before: a try costs writes, and where a turn is written at its end an answer too.
 */
export class RoomWait {
  readonly #options: RoomWaitOptions;
  #inboxId: string | undefined;
  #refusals = 0;
  #timer: TimerHandle | undefined;

  constructor(options: RoomWaitOptions) {
    this.#options = options;
  }

  /** A message waits for room, whether or not it is tried right now. */
  get hasMessage(): boolean {
    return this.#inboxId !== undefined;
  }

  /** It is too early for another try. */
  get isOn(): boolean {
    return this.#timer !== undefined;
  }

  /** So many of the tries of a message ended for want of room, as far as this process knows. */
  refusalsOf(inboxId: string): number {
    return inboxId === this.#inboxId ? this.#refusals : 0;
  }

  /** Answers with how long it is to wait. */
  refuse(inboxId: string): number {
    const refusals = this.refusalsOf(inboxId) + 1;
    this.end();
    this.#inboxId = inboxId;
    this.#refusals = refusals;
    const delayMs = Math.min(MAX_MS, FIRST_MS * 2 ** (refusals - 1));
    this.#timer = this.#options.clock.setTimeout(() => {
      this.#timer = undefined;
      this.#options.onOver();
    }, delayMs);
    this.#timer.unref?.();
    return delayMs;
  }

  /** By the rows of the inbox as they are now: one that was stopped meanwhile keeps nobody waiting. */
  look(rows: readonly InboxItem[]): void {
    if (!rows.some(({ inboxId }) => inboxId === this.#inboxId)) this.end();
  }

  end(): void {
    if (this.#timer !== undefined) this.#options.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#inboxId = undefined;
    this.#refusals = 0;
  }
}
