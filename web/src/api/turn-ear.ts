import type { StreamEvent } from 'reprise/client';
import { hearEvent, type LiveTurn, NEW_TURN } from '../conversation/live-turn.ts';

/**
 * Several messages may be answered by one turn, and each has a stream that tells all of it. The first stream to tell of
 * a turn is listened to; what the others say of it is the same and is passed over.
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

  /** Its stream has ended, and what it told is told elsewhere. */
  forget(by: object): void {
    if (this.#leader !== by) return;
    this.#leader = undefined;
    this.#turn = undefined;
  }
}
