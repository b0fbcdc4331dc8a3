import { RepriseError } from '../../../errors.ts';
import type { AppendReceipt } from '../../port/store.ts';
import type { EndFacts } from '../../rules/turn-rule.ts';
import type { StoreContext } from '../connection/transaction.ts';
import { type AppendOutcome, appendAll, type FullAppendRequest, tellsMore } from './append-batch.ts';

/** Number of transactions at once. Requests that arrive meanwhile share the next commit. */
const MAX_BATCHES = 3;
const MAX_SESSIONS = 64;
const MAX_APPENDS = 256;

interface Waiting {
  readonly request: FullAppendRequest;
  readonly resolve: (answer: AppendReceipt & Partial<EndFacts>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Collects the appends of this node into transactions. Requests of one session keep their order and are never in two
 * transactions at once; each gets its own outcome.
 */
export class AppendWriter {
  readonly #context: StoreContext;
  /** Requests by session, in order of arrival. A session that is being written stays here. */
  readonly #waiting: Map<string, Waiting[]> = new Map();
  readonly #busy: Set<string> = new Set();
  readonly #running: Set<Promise<void>> = new Set();
  #isStarting = false;

  constructor(context: StoreContext) {
    this.#context = context;
  }

  async append(request: FullAppendRequest): Promise<AppendReceipt & Partial<EndFacts>> {
    const { promise, resolve, reject } = Promise.withResolvers<AppendReceipt & Partial<EndFacts>>();
    const queue = this.#waiting.get(request.id) ?? [];
    queue.push({ request, resolve, reject });
    this.#waiting.set(request.id, queue);
    this.#startSoon();
    return promise;
  }

  /** Resolves when no request waits or runs. */
  async idle(): Promise<void> {
    while (this.#running.size > 0 || this.#waiting.size > 0) {
      if (this.#running.size === 0) this.#start();
      await Promise.all(this.#running);
    }
  }

  /** Starts after all requests of the current synchronous code have arrived. */
  #startSoon(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    queueMicrotask(() => {
      this.#isStarting = false;
      this.#start();
    });
  }

  #start(): void {
    while (this.#running.size < MAX_BATCHES) {
      const batch = this.#next();
      if (batch.length === 0) return;
      const ids = new Set(batch.map(({ request }) => request.id));
      for (const id of ids) this.#busy.add(id);
      const run = this.#run(batch).finally(() => {
        for (const id of ids) this.#busy.delete(id);
        this.#running.delete(run);
        this.#start();
      });
      this.#running.add(run);
    }
  }

  /** The requests that can share the next transaction; the longest waiting come first. */
  #next(): Waiting[] {
    const batch: Waiting[] = [];
    let sessions = 0;
    for (const [id, queue] of this.#waiting) {
      if (sessions >= MAX_SESSIONS || batch.length >= MAX_APPENDS) break;
      if (this.#busy.has(id)) continue;
      const [first] = queue;
      const isAlone = first !== undefined && tellsMore(first.request);
      if (isAlone && batch.length > 0) continue;
      const found = queue.findIndex(({ request }) => tellsMore(request));
      const plain = found === -1 ? queue.length : found;
      const count = isAlone ? 1 : Math.min(plain, MAX_APPENDS - batch.length);
      batch.push(...queue.splice(0, count));
      sessions++;
      if (queue.length === 0) this.#waiting.delete(id);
      if (isAlone) break;
    }
    return batch;
  }

  async #run(batch: readonly Waiting[]): Promise<void> {
    let outcomes: readonly AppendOutcome[];
    try {
      outcomes = await appendAll(
        this.#context,
        batch.map(({ request }) => request),
      );
    } catch (error) {
      // If the server refuses a request, the others run again separately. Requests that may have been committed are
      // not repeated.
      const isOver = error instanceof RepriseError && error.outcome === 'unknown';
      if (batch.length === 1 || isOver) for (const { reject } of batch) reject(error);
      else for (const waiting of batch) await this.#run([waiting]);
      return;
    }
    const later: Waiting[] = [];
    for (const [i, waiting] of batch.entries()) {
      const outcome = outcomes[i];
      if (outcome?.kind === 'done') waiting.resolve({ ...outcome.receipt, ...outcome.end });
      else if (outcome?.kind === 'refused') waiting.reject(outcome.error);
      else later.push(waiting);
    }
    // Each request alone waits for its session. In order, because several may belong to one session.
    for (const waiting of later) await this.#run([waiting]);
  }
}
