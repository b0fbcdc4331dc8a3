import type { InboxChange } from '../../src/store/port/inbox.ts';
import type { Life } from './life.ts';
import type { Scheduler } from './scheduler.ts';

/** Longest time until a process hears of another's commit. */
const MAX_DELAY_MS = 1000;

interface Listener {
  readonly life: Life;
  readonly waiting: Map<string, InboxChange>;
  isDue: boolean;
  wake: () => void;
}

/** `inbox.watch` in virtual time: a listener hears which rows changed, soon, often several at once. */
export class Changes {
  readonly #scheduler: Scheduler;
  readonly #listeners: Set<Listener> = new Set();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  tell(change: InboxChange): void {
    for (const listener of this.#listeners) {
      if (listener.life.state === 'dead') {
        this.#listeners.delete(listener);
        continue;
      }
      listener.waiting.set(change.inboxId, change);
      if (listener.isDue) continue;
      listener.isDue = true;
      this.#scheduler.in(this.#scheduler.random.skewed(1, MAX_DELAY_MS), listener.life, () => {
        listener.isDue = false;
        listener.wake();
      });
    }
  }

  /** From the call on, not from the first look. */
  listen(life: Life, signal: AbortSignal): AsyncIterable<InboxChange> {
    const listener: Listener = { life, waiting: new Map(), isDue: false, wake: () => undefined };
    this.#listeners.add(listener);
    const listeners = this.#listeners;
    signal.addEventListener('abort', () => {
      listeners.delete(listener);
      listener.wake();
    });
    return (async function* () {
      while (!signal.aborted) {
        const told = [...listener.waiting.values()];
        if (listener.isDue || told.length === 0) {
          await new Promise<void>((resolve) => {
            listener.wake = resolve;
          });
          continue;
        }
        listener.waiting.clear();
        yield* told;
      }
    })();
  }
}
