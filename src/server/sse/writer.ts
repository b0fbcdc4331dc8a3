import { encodeBatch, type Frame, KEEP_ALIVE } from './frame.ts';

export interface SseSource<E extends object = object> {
  batches(): AsyncGenerator<readonly Frame<E>[], void, undefined>;
  /** Characters that were produced but not read yet. */
  readonly lag: number;
}

export interface SseWriterOptions {
  readonly source: SseSource;
  readonly keepAliveMs: number;
  /** A client with more unread data than this is disconnected; it can resume. */
  readonly maxLag: number;
  /** Aborts when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
  /** Closes the connection at once, discarding unsent data. */
  readonly cut: () => void;
  readonly onEnd: () => void;
  readonly onFailure: (error: unknown) => void;
}

/** Interval of checking a client that is not ready for more. */
const LOOK_MS = 250;
/** A connection that accepts no data for this long is closed. */
const STALLED_MS = 60_000;

/**
 * The body of an event stream. It buffers only the batch being sent; later events wait in the log that all clients
 * share, so a slow client costs no memory, and is disconnected when it is too far behind (T82).
 */
export function sseBody(options: SseWriterOptions): ReadableStream<Uint8Array> {
  const { source, keepAliveMs, maxLag, signal, cut, onEnd, onFailure } = options;
  const batches = source.batches();
  let next: Promise<IteratorResult<readonly Frame<object>[], void>> | undefined;
  /** Since when the client has not asked for more. */
  let waitingSince: number | undefined;
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    clearInterval(look);
    signal.removeEventListener('abort', end);
    void batches.return().catch(() => undefined); // the client is gone
    onEnd();
  };
  const look = setInterval(() => {
    if (waitingSince === undefined) return;
    if (source.lag <= maxLag && performance.now() - waitingSince < STALLED_MS) return;
    end();
    cut();
  }, LOOK_MS);
  look.unref();
  signal.addEventListener('abort', end, { once: true });
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        waitingSince = undefined;
        next ??= batches.next();
        const told = await orQuiet(next, keepAliveMs).catch((error: unknown) => {
          // Not sent as an event: the turn continues, and a client that resumes gets its result.
          onFailure(error);
          end();
          cut();
          return BROKEN;
        });
        if (told === undefined) controller.enqueue(Buffer.from(KEEP_ALIVE));
        else {
          next = undefined;
          if (told.done === true) {
            end();
            controller.close();
            return;
          }
          controller.enqueue(encodeBatch(told.value));
        }
        waitingSince = performance.now();
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

const BROKEN: IteratorResult<readonly Frame<object>[], void> = { done: true, value: undefined };

/** @returns undefined if nothing arrived within the time. */
async function orQuiet<T>(next: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const quiet = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([next, quiet]);
  } finally {
    clearTimeout(timer);
  }
}
