import type { Clock, TimerHandle } from '../../../src/engine/clock.ts';

interface Timer extends TimerHandle {
  readonly dueAt: number;
  readonly run: () => void;
}

/** A clock that stands still until the test moves it: nothing is late, and nothing comes early. */
export class HandClock implements Clock {
  #now = Date.parse('2026-01-02T03:04:05Z');
  readonly #timers: Set<Timer> = new Set();

  now(): Date {
    return new Date(this.#now);
  }

  setTimeout(run: () => void, ms: number): TimerHandle {
    const timer: Timer = { dueAt: this.#now + ms, run };
    this.#timers.add(timer);
    return timer;
  }

  clearTimeout(timer: TimerHandle): void {
    this.#timers.delete(timer as Timer);
  }

  /** As on a machine that slept: what became due meanwhile runs late, once. */
  sleep(ms: number): void {
    this.#now += ms;
    this.advance(0);
  }

  /** Runs what becomes due on the way, each at its time. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(({ dueAt }) => dueAt <= end).sort((a, b) => a.dueAt - b.dueAt);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.dueAt);
      next.run();
    }
    this.#now = end;
  }
}
