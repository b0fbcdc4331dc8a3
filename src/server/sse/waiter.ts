import type { Reprise } from '../../engine/reprise.ts';

type StoredEntry = Awaited<ReturnType<Reprise['store']['read']>>['entries'][number];

export interface WaiterOptions {
  readonly store: Reprise['store'];
  readonly sessionId: string;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
}

interface Sought extends Disposable {
  readonly isFound: boolean;
}

/** An abort without a reason creates an exception with a stack, which costs time and is never read. */
const OVER = 'over';

/** Lets one stream sleep until something changes. */
export class Waiter implements Disposable {
  readonly #options: WaiterOptions;
  #isNews = false;
  #isCut = false;
  #wake: (() => void) | undefined;

  constructor(options: WaiterOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', this.tell, { once: true });
  }

  /** There is nothing left to wait for. */
  get isOver(): boolean {
    return this.#options.signal.aborted || this.#isCut;
  }

  /** Called before reading: changes from now on wake the stream. */
  look(): void {
    this.#isNews = false;
  }

  /** Something may have changed. */
  readonly tell = (): void => {
    this.#isNews = true;
    this.#wake?.();
  };

  /** No further changes will arrive in this process. */
  cut(): void {
    this.#isCut = true;
    this.tell();
  }

  /**
   * Waits for a change or, with `afterSeq`, for a stored entry. @returns false on a timeout or if there is nothing left
   * to wait for.
   */
  async wait({ afterSeq, ms }: { readonly afterSeq?: number; readonly ms?: number } = {}): Promise<boolean> {
    using _stored = afterSeq === undefined ? undefined : this.seek(afterSeq, () => true);
    const timer = ms === undefined ? undefined : setTimeout(() => this.#wake?.(), ms);
    if (!this.#isNews && !this.isOver)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#wake = undefined;
    clearTimeout(timer);
    // Let further events of this tick join the same write.
    await new Promise((resolve) => setImmediate(resolve));
    return this.#isNews && !this.isOver;
  }

  /** Watches for the first matching entry after a position, until it is disposed. */
  seek(afterSeq: number, isWanted: (stored: StoredEntry) => boolean): Sought {
    const { store, sessionId } = this.#options;
    const over = new AbortController();
    const sought = { isFound: false, [Symbol.dispose]: () => over.abort(OVER) };
    const find = async (): Promise<void> => {
      for await (const stored of store.watch(sessionId, { afterSeq, signal: over.signal })) {
        if (!isWanted(stored)) continue;
        sought.isFound = true;
        this.tell();
        return;
      }
    };
    // The store is closing or busy; the inbox row has the end of the message.
    void find().catch(() => undefined);
    return sought;
  }

  [Symbol.dispose](): void {
    this.#options.signal.removeEventListener('abort', this.tell);
  }
}
