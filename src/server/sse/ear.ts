import type { SessionLog } from './event-log.ts';
import type { Ask, TurnPart } from './relay-message.ts';

export type Need = Pick<Ask, 'at' | 'message'>;

/** If a missing part does not arrive within this time, its process has ended. */
export const GAP_MS = 3500;
/** Interval of polling for lost parts of a quiet turn; it doubles up to the maximum. */
const FIRST_LOOK_MS = 1000;
const LAST_LOOK_MS = 10_000;
const MAX_HELD = 256;

/**
 * Receives the events of one session from another process and adds them to the log in order. Duplicates are dropped,
 * parts that arrive too early are held, and missing parts are requested.
 */
export class Ear implements Disposable {
  readonly #log: SessionLog;
  readonly #ask: (ask: Ask) => void;
  #held: TurnPart[] = [];
  #gap: NodeJS.Timeout | undefined;
  #look: NodeJS.Timeout | undefined;
  #lookMs = FIRST_LOOK_MS;

  constructor(log: SessionLog, ask: (ask: Ask) => void) {
    this.#log = log;
    this.#ask = ask;
  }

  take(part: TurnPart): void {
    const outcome = this.#log.absorb(part);
    if (outcome === 'gap') this.#hold(part);
    if (outcome !== 'told') return;
    if (this.#held.length > 0) this.#takeHeld();
    this.#lookMs = FIRST_LOOK_MS;
    this.#lookLater();
  }

  /** Requests events from the other processes, stating which ones this process has. */
  ask(need: Need = {}): void {
    const { sessionId, heard: have } = this.#log;
    this.#ask({ sessionId, ...(have !== undefined && { have }), ...need });
    this.#lookLater();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#gap);
    clearTimeout(this.#look);
    this.#held = [];
  }

  #hold(part: TurnPart): void {
    this.#held.push(part);
    // A dropped part can be requested again.
    if (this.#held.length > MAX_HELD) this.#held.shift();
    if (this.#gap !== undefined) return;
    this.#gap = setTimeout(() => this.#giveUp(), GAP_MS).unref();
    this.ask({ at: part.records[0]?.first ?? part.before + 1 });
  }

  #takeHeld(): void {
    for (let isMore = true; isMore; ) {
      isMore = false;
      const held = this.#held;
      this.#held = [];
      for (const part of held) {
        const outcome = this.#log.absorb(part);
        if (outcome === 'gap') this.#held.push(part);
        isMore ||= outcome === 'told';
      }
    }
    if (this.#held.length > 0) return;
    clearTimeout(this.#gap);
    this.#gap = undefined;
  }

  /** Gives the turn up: clients get its stored entries. A later complete part can start it again. */
  #giveUp(): void {
    this.#gap = undefined;
    this.#log.loseTurn();
    this.#takeHeld();
    this.#held = [];
    this.ask();
  }

  #lookLater(): void {
    clearTimeout(this.#look);
    this.#look = setTimeout(() => {
      this.#lookMs = Math.min(2 * this.#lookMs, LAST_LOOK_MS);
      this.ask();
    }, this.#lookMs).unref();
  }
}
