import { RepriseError } from '../../../errors.ts';

/**
 * Work that may take long, in steps of a few milliseconds at most. Between two steps it holds nothing (no snapshot,
 * no lock), so that others are answered meanwhile and the write-ahead log can be moved on.
 */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Where nobody else is waiting: all of it without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

interface Job {
  readonly steps: Steps<unknown>;
  readonly done: (value: unknown) => void;
  readonly failed: (error: unknown) => void;
}

const SLICE_MS = 5;

/** Runs several such works in turns, a slice each, and lets the event loop turn after every slice. */
export class StepRunner {
  readonly #jobs: Job[] = [];
  #scheduled = false;

  /** The first step is taken at once, so that what is short needs no turn. */
  run(job: Job): void {
    const isAlone = this.#jobs.length === 0;
    this.#work(job, isAlone ? SLICE_MS : 0);
    this.#schedule();
  }

  /** Ends what is under way: nobody waits for a scan when the store closes. */
  stop(): void {
    for (const { steps, failed } of this.#jobs.splice(0)) {
      steps.return(undefined);
      failed(new RepriseError('STORE_FAILED', 'the store was closed meanwhile', { outcome: 'none' }));
    }
  }

  #schedule(): void {
    if (this.#scheduled || this.#jobs.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#slice();
    });
  }

  #slice(): void {
    const job = this.#jobs.shift();
    if (job !== undefined) this.#work(job, SLICE_MS);
    this.#schedule();
  }

  #work(job: Job, ms: number): void {
    const end = performance.now() + ms;
    try {
      do {
        const step = job.steps.next();
        if (step.done === true) {
          job.done(step.value);
          return;
        }
      } while (performance.now() < end);
      this.#jobs.push(job);
    } catch (error) {
      job.failed(error);
    }
  }
}
