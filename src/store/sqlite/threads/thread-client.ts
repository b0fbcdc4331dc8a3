import { RepriseError } from '../../../errors.ts';
import { failure } from '../../../messages/failure.ts';
import { storeClosed } from '../../rules/refusals.ts';
import { storeError } from '../store-error.ts';
import {
  GO,
  type ThreadError,
  type ThreadEvent,
  type ThreadMessage,
  type ThreadOptions,
  type ThreadReply,
} from './protocol.ts';
import { type StorageThread, startThread, type ThreadFile } from './start-thread.ts';

/** A thread that does not end within this time after `close` is terminated. */
const CLOSE_LIMIT_MS = 5000;
/**
 * A thread that dies this often within this much working time is not restarted. The time to start a thread does not
 * count; otherwise a slow machine would restart it forever.
 */
const MAX_DEATHS = 5;
const DEATHS_MS = 10_000;
const REOPEN_MS = 1000;

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: RepriseError) => void;
}

export interface ThreadClientOptions {
  /** The storage thread by default. */
  readonly file?: ThreadFile;
  /** Called for every new thread, also for one that replaces a dead thread. */
  readonly thread: () => ThreadOptions;
  /** The first thread starts at once, but opens nothing before this promise resolves. */
  readonly after?: Promise<void>;
  readonly onEvent: (event: ThreadEvent) => void;
  /** Called with true when a new thread replaced a dead one, with false when no new one will start. */
  readonly onRestart: (isAlive: boolean) => void;
}

/**
 * Calls into one storage thread. The main thread only posts messages and receives answers (P7). If the thread dies,
 * its unanswered calls fail and a new thread serves the next ones.
 */
export class ThreadClient {
  readonly #options: ThreadClientOptions;
  readonly #pending: Map<number, Pending> = new Map();
  readonly ready: Promise<void>;
  #worker: StorageThread | undefined;
  #number = 0;
  #opened = false;
  /** Total working time of all threads, and the points in it at which one died. */
  #workedMs = 0;
  #deaths: readonly number[] = [];
  /** The error that every further call receives. */
  #closed: RepriseError | undefined;

  constructor(options: ThreadClientOptions) {
    this.#options = options;
    this.ready = this.#start().catch((error: unknown) => {
      this.#closed ??= error as RepriseError;
      throw error;
    });
  }

  call<T>(op: string, args: unknown): Promise<T> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    if (this.#worker === undefined) this.#restart();
    const n = ++this.#number;
    return new Promise<T>((resolve, reject) => {
      try {
        // Post at once: the caller may change the arguments as soon as this returns.
        this.#worker?.postMessage({ n, op, args });
      } catch (cause) {
        reject(failure('INVALID_INPUT', 'store.notData', { operation: op }, { cause }));
        return;
      }
      // The process may end while the store is idle, but not while a call waits for an answer.
      if (this.#pending.size === 0) this.#worker?.ref();
      this.#pending.set(n, { resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /** Lets the process end while no call is pending. */
  unref(): void {
    if (this.#pending.size === 0) this.#worker?.unref();
  }

  /**
   * Pauses the thread outside any transaction. @returns a function that lets it continue. A paused thread handles
   * nothing, so a process that is stopped now holds no lock.
   */
  async park(): Promise<() => void> {
    const gate = new Int32Array(new SharedArrayBuffer(4));
    const open = (): void => {
      Atomics.store(gate, 0, 1);
      Atomics.notify(gate, 0);
    };
    // A dead thread counts as paused.
    await this.call('park', gate).catch(() => undefined);
    return open;
  }

  async close(): Promise<void> {
    if (this.#closed !== undefined) return;
    const worker = this.#worker;
    const closing = worker === undefined ? undefined : this.call('close', undefined);
    this.#closed = storeClosed();
    if (worker === undefined) return;
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    // A thread that dies instead of closing leaves the same state as any dead process.
    await closing?.catch(() => undefined);
    const late = setTimeout(() => void worker.terminate(), CLOSE_LIMIT_MS);
    worker.ref();
    await ended;
    clearTimeout(late);
  }

  #start(): Promise<void> {
    const { file = 'thread', thread, after } = this.#options;
    const waits = after !== undefined && this.#number === 0 && !this.#opened;
    const options: ThreadOptions = { ...thread(), waits };
    const worker = startThread(file, options);
    this.#worker = worker;
    if (waits)
      after.then(
        () => worker.postMessage(GO),
        () => worker.terminate(),
      );
    return new Promise((resolve, reject) => {
      let cause: unknown;
      let readyAt: number | undefined;
      worker.on('message', (message: ThreadMessage) => {
        if (!('event' in message)) for (const reply of message) this.#settle(reply);
        else if (message.event === 'ready') {
          this.#opened = true;
          readyAt = performance.now();
          resolve();
        } else if (message.event === 'failed') {
          cause = revive(message.error);
          void worker.terminate();
        } else this.#options.onEvent(message);
      });
      worker.on('error', (error) => {
        cause = error;
      });
      worker.on('exit', () => {
        this.#worker = undefined;
        if (readyAt !== undefined) this.#workedMs += performance.now() - readyAt;
        // If opening failed, every call gets the reason, and none of them has started.
        const refusal = cause instanceof RepriseError || !this.#opened ? refusalOf(cause) : undefined;
        const error = refusal ?? died(options.role, cause);
        for (const { reject: fail } of this.#pending.values()) fail(error);
        this.#pending.clear();
        reject(error);
        if (refusal === undefined && this.#opened) this.#replace(options, cause);
      });
    });
  }

  #settle(reply: ThreadReply): void {
    const pending = this.#pending.get(reply.n);
    this.#pending.delete(reply.n);
    if (reply.ok) pending?.resolve(reply.value);
    else pending?.reject(revive(reply.error));
    if (this.#pending.size === 0) this.#worker?.unref();
  }

  #replace({ path }: ThreadOptions, cause: unknown): void {
    if (this.#closed !== undefined) return;
    const now = this.#workedMs;
    this.#deaths = [...this.#deaths.filter((at) => now - at < DEATHS_MS), now];
    if (path === ':memory:') {
      this.#closed = failure('STORE_FAILED', 'store.memoryLost', {}, { cause, outcome: 'none' });
    } else if (this.#deaths.length >= MAX_DEATHS) {
      this.#closed = failure(
        'STORE_FAILED',
        'store.threadsDied',
        { times: MAX_DEATHS, seconds: DEATHS_MS / 1000 },
        { cause, outcome: 'none', details: { error: String(cause) } },
      );
    }
    if (this.#closed === undefined) this.#restart();
    else this.#options.onRestart(false);
  }

  #restart(): void {
    this.#start().then(
      () => {
        // A thread that dies right after it became ready may report its end first. If it was the last one, it stays
        // closed.
        if (this.#closed === undefined) this.#options.onRestart(true);
      },
      () => {
        // All pending calls received the error. Leases need heartbeats even without calls, so retry.
        const again = (): void => {
          if (this.#closed === undefined && this.#worker === undefined) this.#restart();
        };
        setTimeout(again, REOPEN_MS).unref();
      },
    );
    this.unref();
  }
}

/** Whether a call failed because its thread died; a new thread may be able to answer it. */
export function isThreadDeath(error: unknown): boolean {
  return error instanceof RepriseError && error.details['died'] === 'thread';
}

function refusalOf(cause: unknown): RepriseError | undefined {
  return cause === undefined ? undefined : storeError(cause);
}

function died(role: ThreadOptions['role'], cause: unknown): RepriseError {
  const outcome = role === 'writer' ? 'unknown' : 'none';
  return failure(
    'STORE_FAILED',
    'store.threadDied',
    {},
    { cause, outcome, details: { died: 'thread', ...(cause !== undefined && { error: String(cause) }) } },
  );
}

function revive({ code, message, ...rest }: ThreadError): RepriseError {
  return new RepriseError(code, message, rest);
}
