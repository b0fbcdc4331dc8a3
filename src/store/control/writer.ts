import { RepriseError } from '../../errors.ts';
import { type AppendRequest, append } from './append.ts';
import { Batch, type BatchContext } from './batch.ts';
import { storeError } from './database.ts';
import type { Follower } from './follower.ts';
import { receive, settleItem, takeItem } from './inbox.ts';
import { acquireLease, beat, releaseLease } from './leases.ts';
import { findSession } from './session-row.ts';
import {
  activateSession,
  createSession,
  deleteSession,
  markDamaged,
  patchSession,
  purgeSession,
  restoreSession,
} from './sessions.ts';

/** Everything that changes the store. Each runs inside the transaction of a batch. */
export const WRITE_OPS: Readonly<Record<WriteOp, (batch: Batch, args: never) => unknown>> = {
  create: createSession,
  activate: activateSession,
  append,
  patch: patchSession,
  delete: deleteSession,
  restore: restoreSession,
  purge: purgeSession,
  acquire: acquireLease,
  beat,
  release: releaseLease,
  receive,
  take: takeItem,
  settle: settleItem,
  damaged: markDamaged,
};

export type WriteOp =
  | 'create'
  | 'activate'
  | 'append'
  | 'patch'
  | 'delete'
  | 'restore'
  | 'purge'
  | 'acquire'
  | 'beat'
  | 'release'
  | 'receive'
  | 'take'
  | 'settle'
  | 'damaged';

export interface WriteRequest {
  readonly op: WriteOp;
  readonly args: unknown;
  readonly done: (outcome: WriteOutcome) => void;
}

export type WriteOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: RepriseError };

const MAX_BATCH = 256;
/** After this long without a pause another process gets its turn. */
const FAIR_RUN_MS = 20;
const FAIR_PAUSE_MS = 2;

/**
 * Group commit: requests that arrive while a transaction is being written form the next one, and one fsync serves
 * them all. Every answer is sent after the commit (P1).
 */
export class Writer {
  readonly #context: BatchContext;
  readonly #follower: Follower | undefined;
  readonly #onChange: (ids: readonly string[]) => void;
  #queue: WriteRequest[] = [];
  #scheduled = false;
  #busySince: number | undefined;

  constructor(
    context: BatchContext,
    follower: Follower | undefined,
    onChange: (ids: readonly string[]) => void,
  ) {
    this.#context = context;
    this.#follower = follower;
    this.#onChange = onChange;
  }

  submit(request: WriteRequest): void {
    this.#queue.push(request);
    this.#schedule(0);
  }

  #schedule(delayMs: number): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    const run = (): void => {
      this.#scheduled = false;
      this.#runBatch();
    };
    if (delayMs > 0) setTimeout(run, delayMs);
    else setImmediate(run);
  }

  #runBatch(): void {
    const requests = this.#queue.splice(0, MAX_BATCH);
    if (requests.length > 0) this.#commit(requests);
    const now = performance.now();
    if (this.#queue.length === 0) {
      this.#busySince = undefined;
      this.followNow();
      return;
    }
    this.#busySince ??= now;
    const mustPause = now - this.#busySince > FAIR_RUN_MS;
    if (mustPause) this.#busySince = undefined;
    this.#schedule(mustPause ? FAIR_PAUSE_MS : 0);
  }

  /** Nothing waits: let the files catch up at once, without an fsync of its own. */
  followNow(): void {
    if (this.#follower?.hasWork !== true) return;
    try {
      this.#context.db.transaction(() => this.#follower?.followAll(), { lazy: true });
    } catch {
      // The journal keeps everything; the sweep tries again.
    }
  }

  #commit(requests: readonly WriteRequest[]): void {
    let outcomes: WriteOutcome[] = [];
    let changed: string[] = [];
    try {
      this.#context.db.transaction(() => {
        this.#follower?.inspect(new Set(requests.map(({ args }) => (args as { id?: string }).id ?? '')));
        this.#follower?.followAll();
        const batch = new Batch(this.#context);
        outcomes = requests.map((request) => runOne(batch, request, this.#follower));
        changed = batch.flush();
      });
    } catch (error) {
      outcomes = this.#afterFailure(requests, storeError(error));
      changed = [];
    }
    this.#follower?.expect(changed);
    for (const [i, { done }] of requests.entries()) {
      const outcome = outcomes[i];
      if (outcome !== undefined) done(outcome);
    }
    if (changed.length > 0) this.#onChange(changed);
  }

  /** A commit that failed may have happened. The keys know: whoever finds its key there has its answer (P2). */
  #afterFailure(requests: readonly WriteRequest[], failure: RepriseError): WriteOutcome[] {
    try {
      if (failure.outcome === 'unknown') this.#context.db.reopen();
    } catch {
      // Still broken: everybody is told that the outcome is unknown.
      return requests.map(() => ({ ok: false, error: failure }));
    }
    return requests.map(({ op, args }) => {
      if (op !== 'append' || failure.outcome !== 'unknown') return { ok: false, error: failure };
      const { id, key } = args as AppendRequest;
      const known = new Batch(this.#context).knownKey(id, key);
      if (known !== undefined)
        return { ok: true, value: { firstSeq: known.first_seq, lastSeq: known.last_seq } };
      const error = new RepriseError(failure.code, failure.message, { cause: failure, outcome: 'none' });
      return { ok: false, error };
    });
  }
}

function runOne(batch: Batch, { op, args }: WriteRequest, follower: Follower | undefined): WriteOutcome {
  try {
    const purged = op === 'purge' ? findSession(batch.db, (args as { id: string }).id) : undefined;
    const value = WRITE_OPS[op](batch, args as never);
    if (purged !== undefined) follower?.forget(purged);
    return { ok: true, value };
  } catch (error) {
    // A refusal touches nothing, so the others of the batch go on. Anything else fails the transaction.
    if (error instanceof RepriseError) return { ok: false, error };
    throw error;
  }
}
