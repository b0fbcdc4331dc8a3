import type { Reprise } from '../../engine/reprise.ts';

type StoredEntry = Awaited<ReturnType<Reprise['store']['read']>>['entries'][number];

export interface WaiterOptions {
  readonly store: Reprise['store'];
  readonly sessionId: string;
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal;
}

interface Sought extends Disposable {
  readonly isFound: boolean;
}

/** Without a reason of its own each abort makes an exception that nobody reads, with a stack. */
const OVER = 'over';

/** Sleeps for one stream until there is something to look at. */
export class Waiter implements Disposable {
  readonly #options: WaiterOptions;
  #isNews = false;
  #isCut = false;
  #wake: (() => void) | undefined;

  constructor(options: WaiterOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', this.tell, { once: true });
  }

  /** There is nothing to wait for any more. */
  get isOver(): boolean {
    return this.#options.signal.aborted || this.#isCut;
  }

  /** Called before one looks: what comes from now on has not been seen. */
  look(): void {
    this.#isNews = false;
  }

  /** Something may have changed. */
  readonly tell = (): void => {
    this.#isNews = true;
    this.#wake?.();
  };

  /** Nothing more will be heard here. */
  cut(): void {
    this.#isCut = true;
    this.tell();
  }

  /** Until something is told or, with `afterSeq`, stored by anybody. False: there is nothing to wait for any more, or not for so long. */
  async wait({ afterSeq, ms }: { readonly afterSeq?: number; readonly ms?: number } = {}): Promise<boolean> {
    using _stored = afterSeq === undefined ? undefined : this.seek(afterSeq, () => true);
    const timer = ms === undefined ? undefined : setTimeout(() => this.#wake?.(), ms);
    if (!this.#isNews && !this.isOver)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    this.#wake = undefined;
    clearTimeout(timer);
    // What else is told in this moment goes into the same write.
    await new Promise((resolve) => setImmediate(resolve));
    return this.#isNews && !this.isOver;
  }

  /** Tells of the first entry behind a place that is wanted, until it is disposed of. */
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
    // The store closes, or is busy: the end of the message is told by its row.
    void find().catch(() => undefined);
    return sought;
  }

  [Symbol.dispose](): void {
    this.#options.signal.removeEventListener('abort', this.tell);
  }
}
