import { RepriseError } from '../../../errors.ts';
import type { SearchQuery, SearchResult } from '../../port/store.ts';
import { storeClosed } from '../../rules/refusals.ts';
import type { ThreadEvent, ThreadOptions } from '../threads/protocol.ts';
import { ThreadClient } from '../threads/thread-client.ts';

/** So long after the first commit the thread that indexes is made; most commands are over by then. */
const AFTER_COMMIT_MS = 2000;
/** A process that lives so long has the time to see whether something is left to index. */
const AFTER_OPEN_MS = 5000;

/** The main thread's side of the thread that searches, which is there only when it is needed. */
export class SearchClient {
  readonly #thread: () => ThreadOptions;
  #client: ThreadClient | undefined;
  #timer: NodeJS.Timeout;
  #hasCommitted = false;
  #isClosed = false;
  problem: string | undefined;

  constructor(thread: () => ThreadOptions) {
    this.#thread = thread;
    this.#timer = this.#startIn(AFTER_OPEN_MS);
  }

  /** Undefined where the thread cannot be had: then somebody else has to look. */
  async search(query: SearchQuery): Promise<SearchResult | undefined> {
    try {
      return await this.#open().call<SearchResult>('search', query);
    } catch (error) {
      if (this.#isClosed || !(error instanceof RepriseError) || !LOST.has(error.code)) throw error;
      this.problem = error.message;
      return undefined;
    }
  }

  async reindex(): Promise<void> {
    return this.#open().call('reindex', {});
  }

  /** Somebody has committed something: it is indexed soon, but not by a process that is about to end. */
  noteChange(): void {
    if (this.#isClosed || this.#hasCommitted || this.#client !== undefined) return;
    this.#hasCommitted = true;
    clearTimeout(this.#timer);
    this.#timer = this.#startIn(AFTER_COMMIT_MS);
  }

  /** Takes sessions that are gone out of the index; answers when nothing of them is left in it. */
  async forget(): Promise<void> {
    try {
      await this.#open().call('forget', {});
    } catch (error) {
      // A thread that dies compares everything when it comes back, and so does the next process.
      if (!(error instanceof RepriseError) || !LOST.has(error.code)) throw error;
    }
  }

  async park(): Promise<() => void> {
    return (await this.#client?.park()) ?? (() => undefined);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#client?.close();
  }

  #startIn(ms: number): NodeJS.Timeout {
    return setTimeout(() => void this.#open(), ms).unref();
  }

  #open(): ThreadClient {
    if (this.#isClosed) throw storeClosed();
    clearTimeout(this.#timer);
    if (this.#client !== undefined) return this.#client;
    const client = new ThreadClient({
      file: 'search-thread',
      thread: this.#thread,
      onEvent: (event) => this.#handle(event),
      onRestart: () => undefined,
    });
    this.#client = client;
    client.ready.catch(() => {
      // Whoever asks is told; without an index everything is read.
      if (this.#client === client) this.#client = undefined;
    });
    client.unref();
    return client;
  }

  #handle(event: ThreadEvent): void {
    if (event.event === 'index-problem') this.problem = event.problem;
  }
}

/** The thread failed, not the search. */
const LOST: ReadonlySet<string> = new Set(['STORE_FAILED', 'STORE_MOVED', 'STORE_BUSY', 'STORE_READ_ONLY']);
