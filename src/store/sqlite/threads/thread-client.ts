import { RepriseError } from '../../../errors.ts';
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

/** A thread that was told to end and does not is ended. */
const CLOSE_LIMIT_MS = 5000;
/**
 * A thread that dies this often in this much time of work will die again: it is not started any more. The time it
 * takes to start one is not counted, or a slow machine would go on for ever.
 */
const MAX_DEATHS = 5;
const DEATHS_MS = 10_000;
const REOPEN_MS = 1000;

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: RepriseError) => void;
}

export interface ThreadClientOptions {
  /** By default the thread that reads or writes. */
  readonly file?: ThreadFile;
  /** Asked again for every thread that takes the place of a dead one. */
  readonly thread: () => ThreadOptions;
  /** The first thread is started at once, and opens nothing before this has happened. */
  readonly after?: Promise<void>;
  readonly onEvent: (event: ThreadEvent) => void;
  /** A new thread has taken the place of a dead one, or none will (`false`). */
  readonly onRestart: (isAlive: boolean) => void;
}

/**
 * Calls into one storage thread. The main thread only posts messages and receives answers (P7). A thread that dies
 * takes its unanswered calls along; the next call finds a new one.
 */
export class ThreadClient {
  readonly #options: ThreadClientOptions;
  readonly #pending: Map<number, Pending> = new Map();
  readonly ready: Promise<void>;
  #worker: StorageThread | undefined;
  #number = 0;
  #opened = false;
  /** How long threads have worked, all together, and at which times of it they died. */
  #workedMs = 0;
  #deaths: readonly number[] = [];
  /** What every further call is told. */
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
        // At once, not with others later: the caller may change what it gave us as soon as we return.
        this.#worker?.postMessage({ n, op, args });
      } catch (cause) {
        reject(new RepriseError('INVALID_INPUT', `${op} was given what is not data`, { cause }));
        return;
      }
      // A process may end while the store is idle, but not while somebody waits for an answer.
      if (this.#pending.size === 0) this.#worker?.ref();
      this.#pending.set(n, { resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /** Lets the process end while nothing is asked. */
  unref(): void {
    if (this.#pending.size === 0) this.#worker?.unref();
  }

  /**
   * Makes the thread stand still outside any transaction, and answers with what lets it go on. The thread sees to
   * nothing meanwhile, so a process that is stopped now holds no lock.
   */
  async park(): Promise<() => void> {
    const gate = new Int32Array(new SharedArrayBuffer(4));
    const open = (): void => {
      Atomics.store(gate, 0, 1);
      Atomics.notify(gate, 0);
    };
    // A thread that is gone stands still as well.
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
    // One that dies instead of closing leaves what any dead process leaves.
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
        // One that could not open says why, and nothing it was asked has begun.
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
      this.#closed = new RepriseError('STORE_FAILED', 'the storage thread died with all this store held', {
        cause,
        outcome: 'none',
      });
    } else if (this.#deaths.length >= MAX_DEATHS) {
      const message = `the storage thread died ${MAX_DEATHS} times within ${DEATHS_MS / 1000} s of work`;
      this.#closed = new RepriseError('STORE_FAILED', message, {
        cause,
        outcome: 'none',
        details: { error: String(cause), next: 'Close the store, find the cause, and open it again.' },
      });
    }
    if (this.#closed === undefined) this.#restart();
    else this.#options.onRestart(false);
  }

  #restart(): void {
    this.#start().then(
      () => {
        // One that was ready and died is told of in one moment, its end first: it was the last, and stays so.
        if (this.#closed === undefined) this.#options.onRestart(true);
      },
      () => {
        // Told to everybody who asked. Leases want to be kept even while nobody asks, so it is tried again.
        const again = (): void => {
          if (this.#closed === undefined && this.#worker === undefined) this.#restart();
        };
        setTimeout(again, REOPEN_MS).unref();
      },
    );
    this.unref();
  }
}

/** Whether a call failed because its thread died, so that a new one may answer it. */
export function isThreadDeath(error: unknown): boolean {
  return error instanceof RepriseError && error.details['died'] === 'thread';
}

function refusalOf(cause: unknown): RepriseError | undefined {
  return cause === undefined ? undefined : storeError(cause);
}

function died(role: ThreadOptions['role'], cause: unknown): RepriseError {
  const outcome = role === 'writer' ? 'unknown' : 'none';
  return new RepriseError('STORE_FAILED', 'the storage thread died', {
    cause,
    outcome,
    details: { died: 'thread', ...(cause !== undefined && { error: String(cause) }) },
  });
}

function revive({ code, message, ...rest }: ThreadError): RepriseError {
  return new RepriseError(code, message, rest);
}
