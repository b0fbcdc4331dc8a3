import { encodeBatch, type Frame, KEEP_ALIVE } from './frame.ts';

export interface SseSource<E extends object = object> {
  batches(): AsyncGenerator<readonly Frame<E>[], void, undefined>;
  /** What was told and not read yet, in characters. */
  readonly lag: number;
}

export interface SseWriterOptions {
  readonly source: SseSource;
  readonly keepAliveMs: number;
  /** A client that lets more than this wait is cut off; it can resume. */
  readonly maxLag: number;
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal;
  /** Ends the connection at once, whatever waits in it. */
  readonly cut: () => void;
  readonly onEnd: () => void;
  readonly onFailure: (error: unknown) => void;
}

/** How often a client that is not ready for more is looked at. */
const LOOK_MS = 250;
/** A connection that takes nothing for so long is given up. */
const STALLED_MS = 60_000;

/**
 * The body of a stream. Nothing is kept for a client but the batch it is being sent: what follows waits in the log that
 * all share, so a slow one costs no memory, and is cut off when it is too far behind (T82).
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
    void batches.return().catch(() => undefined); // nobody is there to be told
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
          // Not an event: the turn goes on, and whoever comes back hears of it.
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

/** Undefined: nothing came for so long. */
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
