import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { Clock, TimerHandle } from '../clock.ts';

export interface StuckTimerOptions {
  readonly clock: Clock;
  /** A turn may emit nothing for this long. */
  readonly afterMs: number;
  readonly onStuck: (reason: RepriseError) => void;
}

/**
 * Ends a turn that makes no progress, so that no session is stuck behind one (P4). Every event of the turn is
 * progress. The timer is restarted only when it runs out, so an event costs an assignment.
 */
export class StuckTimer implements Disposable {
  readonly #options: StuckTimerOptions;
  #timer: TimerHandle | undefined;
  #lastAt: number;
  #dueAt = 0;
  #paused = 0;

  constructor(options: StuckTimerOptions) {
    this.#options = options;
    this.#lastAt = options.clock.now().getTime();
    this.#set(options.afterMs);
  }

  progress(): void {
    this.#lastAt = this.#options.clock.now().getTime();
  }

  /** While a turn waits for another session it is that one which has to make progress. */
  async aside<T>(work: () => Promise<T>): Promise<T> {
    this.#paused++;
    try {
      return await work();
    } finally {
      this.#paused--;
      this.progress();
    }
  }

  [Symbol.dispose](): void {
    if (this.#timer !== undefined) this.#options.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #set(ms: number): void {
    this.#dueAt = this.#options.clock.now().getTime() + ms;
    this.#timer = this.#options.clock.setTimeout(() => this.#look(), ms);
    this.#timer.unref?.();
  }

  #look(): void {
    const { clock, afterMs, onStuck } = this.#options;
    const now = clock.now().getTime();
    // Far too late, it is this process or its machine that slept: what came meanwhile has yet to be heard.
    if (now - this.#dueAt >= afterMs / 2) this.#lastAt = now;
    const silentMs = this.#paused > 0 ? 0 : now - this.#lastAt;
    if (silentMs < afterMs) {
      this.#set(afterMs - silentMs);
      return;
    }
    this.#timer = undefined;
    onStuck(
      failure(
        'ABORTED',
        'turn.stuck',
        { seconds: Math.round(afterMs / 1000) },
        { details: { reason: 'stuck', afterMs } },
      ),
    );
  }
}
