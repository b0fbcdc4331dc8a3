import type { InboxItem } from '../../store/port/inbox.ts';
import type { Clock, TimerHandle } from '../clock.ts';
import type { WriteAnswer } from '../turn/turn.ts';

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

type Row = Pick<InboxItem, 'inboxId'>;

/**
 * Retries an accepted message that could not be stored because the disk is full, each time later than before. Its row
 * stays open. If a profile writes the turn at its end, there may be an answer already, which cost money: it is kept.
 * Other messages may have joined the turn by then, and any of them may lead it the next time.
 */
export class RoomWait {
  readonly #options: RoomWaitOptions;
  #members: ReadonlySet<string> = new Set();
  #refusals = 0;
  /** How many of the attempts that a row counts were refused, and could not be subtracted in it. */
  readonly #untold: Map<string, number> = new Map();
  #answer: KeptAnswer | undefined;
  #timer: TimerHandle | undefined;

  constructor(options: RoomWaitOptions) {
    this.#options = options;
  }

  /** A message waits for room, whether or not it is tried right now. */
  get hasMessage(): boolean {
    return this.#members.size > 0;
  }

  /** It is too early for another try. */
  get isOn(): boolean {
    return this.#timer !== undefined;
  }

  /** How many runners began it and did not come to its end, without this one and without those that had no room. */
  triesBefore({ inboxId, attempts }: InboxItem): number {
    return Math.max(0, attempts - 1 - (this.#untold.get(inboxId) ?? 0));
  }

  /** Its row says how often it was tried: from now on that is asked, others count there too. */
  told({ inboxId }: Row): void {
    this.#untold.delete(inboxId);
  }

  /** Its row counts a try more than there was. */
  untold({ inboxId }: Row): void {
    this.#untold.set(inboxId, (this.#untold.get(inboxId) ?? 0) + 1);
  }

  /** What the try that was refused had come to. */
  keep(answer: KeptAnswer): void {
    this.#answer = answer;
  }

  keptAnswer({ inboxId }: Row): KeptAnswer | undefined {
    return this.#members.has(inboxId) ? this.#answer : undefined;
  }

  /** Of a turn, by all that it answers: how often it was refused by now, and how long it is to wait. */
  refuse(members: readonly Row[]): { readonly attempt: number; readonly delayMs: number } {
    const isSame = members.some(({ inboxId }) => this.#members.has(inboxId));
    const attempt = isSame ? this.#refusals + 1 : 1;
    const untold = isSame ? [...this.#untold] : [];
    this.end();
    this.#members = new Set(members.map(({ inboxId }) => inboxId));
    this.#refusals = attempt;
    for (const [inboxId, count] of untold) this.#untold.set(inboxId, count);
    const delayMs = Math.min(MAX_MS, FIRST_MS * 2 ** (attempt - 1));
    this.#timer = this.#options.clock.setTimeout(() => {
      this.#timer = undefined;
      this.#options.onOver();
    }, delayMs);
    this.#timer.unref?.();
    return { attempt, delayMs };
  }

  /** Checks the rows of the inbox as they are now: a stopped message blocks no others. */
  look(rows: readonly InboxItem[]): void {
    if (!rows.some(({ inboxId }) => this.#members.has(inboxId))) this.end();
  }

  end(): void {
    if (this.#timer !== undefined) this.#options.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#members = new Set();
    this.#refusals = 0;
    this.#untold.clear();
    this.#answer = undefined;
  }
}
