import { RepriseError } from '../../../errors.ts';
import type { SearchQuery, SearchResult } from '../../port/search.ts';
import { storeClosed } from '../../rules/refusals.ts';
import type { ThreadEvent, ThreadOptions } from '../threads/protocol.ts';
import { ThreadClient } from '../threads/thread-client.ts';

/** Delay between the first commit and the start of the index thread; most commands have ended by then. */
const AFTER_COMMIT_MS = 2000;
/** A process that runs this long checks whether something is left to index. */
const AFTER_OPEN_MS = 5000;

/** The main thread's interface to the search thread, which starts only when needed. */
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

  /** @returns `undefined` if the search thread is not available; the caller then scans instead. */
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

  /** Called after each commit. Starts indexing soon, but not in a process that is about to end. */
  noteChange(): void {
    if (this.#isClosed || this.#hasCommitted || this.#client !== undefined) return;
    this.#hasCommitted = true;
    clearTimeout(this.#timer);
    this.#timer = this.#startIn(AFTER_COMMIT_MS);
  }

  /** Removes purged sessions from the index. Resolves when no text of them is left in it. */
  async forget(): Promise<void> {
    try {
      await this.#open().call('forget', {});
    } catch (error) {
      // A restarted thread compares everything, and so does the next process.
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
      // Each caller gets the error. Without an index, searches read all transcripts.
      if (this.#client === client) this.#client = undefined;
    });
    client.unref();
    return client;
  }

  #handle(event: ThreadEvent): void {
    if (event.event === 'index-problem') this.problem = event.problem;
  }
}

/** Codes that mean that the thread failed, not the search. */
const LOST: ReadonlySet<string> = new Set(['STORE_FAILED', 'STORE_MOVED', 'STORE_BUSY', 'STORE_READ_ONLY']);
