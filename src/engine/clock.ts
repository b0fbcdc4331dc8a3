/** The engine's source of time. A custom clock makes every wait in a test or simulation repeatable. */
export interface Clock {
  now(): Date;
  setTimeout(run: () => void, ms: number): TimerHandle;
  clearTimeout(timer: TimerHandle): void;
}

export interface TimerHandle {
  /** Lets the process end while the timer is pending. */
  unref?(): unknown;
}

const SYSTEM_CLOCK: Clock = {
  now: () => new Date(),
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

/** A plain function replaces only the time of day; waits still take real time. */
export function clockFrom(given: Clock | (() => Date) | undefined): Clock {
  if (given === undefined) return SYSTEM_CLOCK;
  return typeof given === 'function' ? { ...SYSTEM_CLOCK, now: given } : given;
}

/** Resolves early, without an error, when the signal aborts. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const onAbort = (): void => {
      clock.clearTimeout(timer);
      resolve();
    };
    const timer = clock.setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
