/** Time as the engine sees it. One of its own makes every wait of a test or a simulation repeatable. */
export interface Clock {
  now(): Date;
  setTimeout(run: () => void, ms: number): TimerHandle;
  clearTimeout(timer: TimerHandle): void;
}

export interface TimerHandle {
  /** A timer the process need not stay alive for. */
  unref?(): unknown;
}

const SYSTEM_CLOCK: Clock = {
  now: () => new Date(),
  setTimeout: (run, ms) => setTimeout(run, ms),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

/** A function tells only the time of day: waiting stays real. */
export function clockFrom(given: Clock | (() => Date) | undefined): Clock {
  if (given === undefined) return SYSTEM_CLOCK;
  return typeof given === 'function' ? { ...SYSTEM_CLOCK, now: given } : given;
}

/** Ends early, without an error, when the signal aborts. */
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
