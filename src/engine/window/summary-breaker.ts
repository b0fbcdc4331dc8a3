import type { Summarise } from '../../compaction/summarize.ts';
import type { Model } from '../../models/model.ts';
import { createSummariser } from './summariser.ts';

const MAX_FAILURES = 2;
const PAUSE = 3;

/**
 * Stops asking a model that fails to give summaries, because each attempt may cost a whole timeout. While the breaker
 * is open, digests replace summaries; after a few of them the model gets another chance.
 */
export class SummaryBreaker {
  #failures = 0;
  #pause = 0;

  /** @returns `undefined` while the breaker is open. */
  summariser(model: Model, timeoutMs: number): Summarise | undefined {
    if (this.#pause > 0) {
      this.#pause--;
      return undefined;
    }
    return createSummariser(model, { timeoutMs });
  }

  report(method: string): void {
    if (method !== 'digest') {
      this.#failures = 0;
      return;
    }
    this.#failures++;
    if (this.#failures >= MAX_FAILURES) this.#pause = PAUSE;
  }
}
