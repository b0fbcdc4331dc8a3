import type { LanguageModelV4StreamPart, LanguageModelV4StreamResult } from '@ai-sdk/provider';

export interface PartStreamOptions {
  readonly idleTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** What the wait ends with when the caller stops it, and when nothing came for too long. */
  readonly aborted: () => Error;
  readonly timedOut: () => Error;
}

type Start = (signal: AbortSignal) => PromiseLike<LanguageModelV4StreamResult>;

/**
 * The parts of one call, bounded in time and stoppable. Every wait ends by itself on abort or silence, because a
 * model object may ignore its signal. However it ends, early leavers included, the request is aborted and the stream
 * cancelled, so that the socket is given back.
 */
export async function* partStream(
  start: Start,
  { idleTimeoutMs, signal, aborted, timedOut }: PartStreamOptions,
): AsyncGenerator<LanguageModelV4StreamPart, void, undefined> {
  const request = new AbortController();
  let fail: ((error: Error) => void) | undefined;
  const stop = (error: Error): void => {
    fail?.(error);
    request.abort(error);
  };
  const onAbort = (): void => stop(aborted());
  // A process that stood still meets its late timers before what came meanwhile: that is heard first.
  const endSilence = (waiting: typeof fail): void => {
    if (waiting !== undefined && waiting === fail) stop(timedOut());
  };
  // The clock runs only while somebody waits: a slow reader of ours is not a silent provider.
  const timer = setTimeout(() => setImmediate(endSilence, fail), idleTimeoutMs);
  const wait = async <T>(work: PromiseLike<T>): Promise<T> => {
    if (signal?.aborted) throw aborted();
    timer.refresh();
    try {
      return await new Promise<T>((resolve, reject) => {
        fail = reject;
        work.then(resolve, reject);
      });
    } finally {
      fail = undefined;
    }
  };

  if (signal?.aborted) {
    clearTimeout(timer);
    throw aborted();
  }
  signal?.addEventListener('abort', onAbort, { once: true });
  let reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined;
  let over = false;
  try {
    const starting = start(request.signal);
    // A result that comes after we have gone is thrown away; its failure has been told by then.
    starting.then(({ stream }) => {
      if (over) stream.cancel().catch(ignore);
    }, ignore);
    const { stream } = await wait(starting);
    reader = stream.getReader();
    while (true) {
      const { done, value } = await wait(reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    over = true;
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    request.abort();
    reader?.cancel().catch(ignore);
  }
}

/** For what can only fail because it is over already. */
function ignore(): void {}
