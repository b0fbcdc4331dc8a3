import type { LanguageModelV4StreamPart, LanguageModelV4StreamResult } from '@ai-sdk/provider';

export interface PartStreamOptions {
  readonly idleTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** The errors for an abort by the caller and for a timeout. */
  readonly aborted: () => Error;
  readonly timedOut: () => Error;
}

type Start = (signal: AbortSignal) => PromiseLike<LanguageModelV4StreamResult>;

/**
 * The parts of one call, limited in time and abortable. Every wait ends on abort or timeout, because a model object
 * may ignore its signal. However the loop ends, even if the caller leaves early, the request is aborted and the
 * stream cancelled, so that the socket is released.
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
  // After a process was suspended, late timers fire before the data that arrived meanwhile; handle that data first.
  const endSilence = (waiting: typeof fail): void => {
    if (waiting !== undefined && waiting === fail) stop(timedOut());
  };
  // The timer runs only while this function waits for a part: a slow consumer is not a silent provider.
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
    // A result that arrives after the end is discarded; a failure was already reported.
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

/** For rejections that can only mean that the stream is already over. */
function ignore(): void {}
