import type { Summarise } from '../../compaction/summarize.ts';
import { failure } from '../../messages/failure.ts';
import type { Model, ModelRequest } from '../../models/model.ts';

/** Asks a model for a summary in a separate request: no tools, no cache, and a timeout. */
export function createSummariser(model: Model, { timeoutMs }: { readonly timeoutMs: number }): Summarise {
  return async ({ system, prompt, maxTokens }, { signal }) => {
    const timeout = AbortSignal.timeout(timeoutMs);
    const stop = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    const request: ModelRequest = {
      system,
      messages: [{ role: 'user', content: [{ type: 'text', text: prompt }] }],
      maxOutputTokens: maxTokens,
      cache: 'off',
    };
    // Cut off endless output: text after this length would be discarded anyway.
    const limit = maxTokens * 40;
    const answer = (async () => {
      let text = '';
      for await (const event of model.stream(request, { signal: stop })) {
        if (event.type === 'text_delta') text += event.text;
        if (text.length > limit) break;
      }
      return text;
    })();
    answer.catch(() => undefined); // reported by the race below, or no longer needed
    return await Promise.race([answer, whenStopped(stop, timeout, timeoutMs)]);
  };
}

/** For models that ignore their signal. */
function whenStopped(stop: AbortSignal, timeout: AbortSignal, timeoutMs: number): Promise<never> {
  return new Promise((_, reject) => {
    const fail = (): void =>
      reject(
        timeout.aborted
          ? failure('MODEL_TIMEOUT', 'summary.slow', { seconds: timeoutMs / 1000 })
          : failure('ABORTED', 'summary.stopped'),
      );
    if (stop.aborted) fail();
    else stop.addEventListener('abort', fail, { once: true });
  });
}
