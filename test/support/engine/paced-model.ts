import { Answer } from '../../../src/models/answer.ts';
import type { Model } from '../../../src/models/model.ts';
import { usageOf } from '../../../src/models/usage.ts';

export interface PacedModel extends Model {
  /** So many more deltas may come. */
  allow(count: number): void;
}

/** An answer in deltas that come only as fast as the test lets them: no test needs to sleep to be in the middle of it. */
export function pacedModel(texts: Iterable<string>): PacedModel {
  let allowed = 0;
  let wake: () => void = () => undefined;
  const model: PacedModel = {
    id: 'paced',
    provider: 'paced',
    api: 'paced',
    target: { family: 'generic', provider: 'paced', model: 'paced' },
    contextWindow: 1_000_000,
    allow: (count) => {
      allowed += count;
      wake();
    },
    async *stream() {
      const answer = new Answer();
      let count = 0;
      for (const text of texts) {
        while (allowed <= 0)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        allowed--;
        const event = { type: 'text_delta', block: 0, text } as const;
        answer.take(event);
        yield event;
        // As a network would: others have their turn in between.
        if (++count % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      yield answer.finish(model, { stopReason: 'stop', usage: usageOf({ input: 1, output: count }) });
    },
  };
  return model;
}
