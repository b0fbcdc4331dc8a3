import type { StreamEvent } from 'reprise/client';
import { hearEvent, type LiveTurn, NEW_TURN } from '../conversation/live-turn.ts';

/**
 * One turn can answer several messages, and the stream of each contains all events of the turn. Only the first of these
 * streams is used; the same events on the others are ignored.
 */
export class TurnEar {
  #leader: object | undefined;
  #turn: LiveTurn | undefined;

  get turn(): LiveTurn | undefined {
    return this.#turn;
  }

  get isListening(): boolean {
    return this.#leader !== undefined;
  }

  isLeader(by: object): boolean {
    return this.#leader === by;
  }

  hear(by: object, event: StreamEvent): void {
    if (event.type === 'session' || event.type === 'queued' || event.type === 'idle') return;
    if (this.#leader !== by) {
      const isNew = event.type === 'turn_start' && event.turnId !== this.#turn?.turnId;
      if (this.#leader !== undefined && !isNew) return;
      this.#leader = by;
      this.#turn = undefined;
    }
    this.#turn = hearEvent(this.#turn ?? NEW_TURN, event);
  }

  /** Ends the use of a stream. */
  forget(by: object): void {
    if (this.#leader !== by) return;
    this.#leader = undefined;
    this.#turn = undefined;
  }
}
