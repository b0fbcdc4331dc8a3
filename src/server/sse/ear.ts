import type { SessionLog } from './event-log.ts';
import type { Ask, TurnPart } from './relay-message.ts';

export type Need = Pick<Ask, 'at' | 'message'>;

/** What did not come for so long after it was asked for does not come: its process is gone. */
export const GAP_MS = 3500;
/** A quiet turn is asked whether it told anything that was lost on the way, soon and then seldom. */
const FIRST_LOOK_MS = 1000;
const LAST_LOOK_MS = 10_000;
const MAX_HELD = 256;

/**
 * Hears what another process tells of one session and puts it into the log in the order of its numbers. What comes
 * twice is dropped, what comes too early is held, and what does not come is asked for.
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

  /** Says that this process listens, and what it has. */
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
    // It can be asked for again.
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

  /** Clients are told what is stored, and hear the next turn, or this one from its beginning if that comes. */
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
