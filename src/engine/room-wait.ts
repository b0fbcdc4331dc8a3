import type { InboxItem } from '../store/store.ts';
import type { Clock, TimerHandle } from './clock.ts';
import type { WriteAnswer } from './turn.ts';

const FIRST_MS = 1000;
const MAX_MS = 30_000;

export interface RoomWaitOptions {
  readonly clock: Clock;
  /** Time to try again. */
  readonly onOver: () => void;
}

/** An answer that had no room, and when it can be written as it is: while nothing else was. */
export interface KeptAnswer {
  readonly write: WriteAnswer;
  /** Of the session, when it was refused. */
  readonly lastSeq: number;
  /** All that it answers. */
  readonly members: readonly InboxItem[];
}

/**
 * The message of a session that was accepted and cannot be said because the disk is full. Its row stays open, and it is
 * tried again, each time later than before. Where a turn is written at its end there may be an answer by then, which
 * cost something: it is kept.
 */
export class RoomWait {
  readonly #options: RoomWaitOptions;
  #inboxId: string | undefined;
  #refusals = 0;
  #triesBefore = 0;
  #answer: KeptAnswer | undefined;
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

  /** How many runners began it and did not come to its end, without this one and without those that had no room. */
  triesBefore({ inboxId, attempts }: InboxItem): number {
    return inboxId === this.#inboxId ? this.#triesBefore : attempts - 1;
  }

  /** What the try that was refused had come to. */
  keep({ inboxId }: InboxItem, answer: KeptAnswer): void {
    if (inboxId === this.#inboxId) this.#answer = answer;
  }

  keptAnswer({ inboxId }: InboxItem): KeptAnswer | undefined {
    return inboxId === this.#inboxId ? this.#answer : undefined;
  }

  /** Answers with how often it was refused by now, and how long it is to wait. */
  refuse(item: InboxItem): { readonly attempt: number; readonly delayMs: number } {
    const attempt = item.inboxId === this.#inboxId ? this.#refusals + 1 : 1;
    const triesBefore = this.triesBefore(item);
    this.end();
    this.#inboxId = item.inboxId;
    this.#refusals = attempt;
    this.#triesBefore = triesBefore;
    const delayMs = Math.min(MAX_MS, FIRST_MS * 2 ** (attempt - 1));
    this.#timer = this.#options.clock.setTimeout(() => {
      this.#timer = undefined;
      this.#options.onOver();
    }, delayMs);
    this.#timer.unref?.();
    return { attempt, delayMs };
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
    this.#answer = undefined;
  }
}
