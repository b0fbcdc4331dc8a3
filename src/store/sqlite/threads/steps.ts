import { failure } from '../../../messages/failure.ts';

/**
 * Long work in steps of a few milliseconds. Between two steps it holds no snapshot and no lock, so other requests run
 * and the write-ahead log can be checkpointed.
 */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Runs all steps without a pause. For threads with no other requests. */
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

/** Runs several jobs in turns, one slice each, and yields to the event loop after every slice. */
export class StepRunner {
  readonly #jobs: Job[] = [];
  #scheduled = false;

  /** Takes the first step at once, so that short jobs need no turn. */
  run(job: Job): void {
    const isAlone = this.#jobs.length === 0;
    this.#work(job, isAlone ? SLICE_MS : 0);
    this.#schedule();
  }

  /** Ends all jobs: closing the store does not wait for a scan. */
  stop(): void {
    for (const { steps, failed } of this.#jobs.splice(0)) {
      steps.return(undefined);
      failed(failure('STORE_FAILED', 'store.closed', {}, { outcome: 'none' }));
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
