import { Worker } from 'node:worker_threads';
import { RepriseError } from '../../errors.ts';
import type { ThreadError, ThreadEvent, ThreadOptions, ThreadReply } from './protocol.ts';
import { storeError } from './store-error.ts';

/** A thread that was told to end and does not is ended. */
const CLOSE_LIMIT_MS = 5000;

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: RepriseError) => void;
}

/** Calls into one storage thread. The main thread only posts messages and receives answers (P7). */
export class ThreadClient {
  readonly #worker: Worker;
  readonly #pending: Map<number, Pending> = new Map();
  readonly #onEvent: (event: ThreadEvent) => void;
  readonly ready: Promise<void>;
  #number = 0;
  #closed: RepriseError | undefined;

  constructor(options: ThreadOptions, onEvent: (event: ThreadEvent) => void) {
    // A checkout runs the TypeScript file, a build its JavaScript. Flags of the process are not the thread's.
    const file = import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js';
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData: options, execArgv: [] });
    this.#onEvent = onEvent;
    this.ready = new Promise((resolve, reject) => {
      this.#worker.on('message', (message: ThreadReply | ThreadEvent) => {
        if (!('event' in message)) this.#settle(message);
        else if (message.event === 'ready') resolve();
        else if (message.event === 'failed') reject(revive(message.error));
        else this.#onEvent(message);
      });
      this.#worker.on('error', (error) => this.#fail(error, reject));
      this.#worker.on('exit', () => this.#fail(new Error('the storage thread ended'), reject));
    });
  }

  call<T>(op: string, args: unknown): Promise<T> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    const n = ++this.#number;
    return new Promise<T>((resolve, reject) => {
      // A process may end while the store is idle, but not while somebody waits for an answer.
      if (this.#pending.size === 0) this.#worker.ref();
      this.#pending.set(n, { resolve: resolve as (value: unknown) => void, reject });
      this.#worker.postMessage({ n, op, args });
    });
  }

  /** Lets the process end while nothing is asked. */
  unref(): void {
    if (this.#pending.size === 0) this.#worker.unref();
  }

  async close(): Promise<void> {
    if (this.#closed !== undefined) return;
    const closing = this.call('close', undefined);
    this.#closed = new RepriseError('STORE_FAILED', 'the store is closed', { outcome: 'none' });
    const ended = new Promise<void>((resolve) => this.#worker.once('exit', () => resolve()));
    await closing;
    const late = setTimeout(() => void this.#worker.terminate(), CLOSE_LIMIT_MS);
    this.#worker.ref();
    await ended;
    clearTimeout(late);
  }

  #settle(reply: ThreadReply): void {
    const pending = this.#pending.get(reply.n);
    this.#pending.delete(reply.n);
    if (reply.ok) pending?.resolve(reply.value);
    else pending?.reject(revive(reply.error));
    if (this.#pending.size === 0) this.#worker.unref();
  }

  /** The thread is gone: whether what it was doing has happened, nobody knows. */
  #fail(cause: unknown, rejectReady: (error: RepriseError) => void): void {
    const error = new RepriseError('STORE_FAILED', 'the storage thread died', { cause });
    this.#closed ??= error;
    // Nobody has asked for anything before a thread is ready.
    rejectReady(storeError(cause));
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}

function revive({ code, message, details, outcome }: ThreadError): RepriseError {
  return new RepriseError(code, message, { details, outcome });
}
