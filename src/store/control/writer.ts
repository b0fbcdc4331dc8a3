import { RepriseError } from '../../errors.ts';
import { append } from './append.ts';
import { Batch, type BatchContext } from './batch.ts';
import type { Follower, Visit } from './follower.ts';
import { receive, settleItem, takeItem } from './inbox.ts';
import { acquireLease, beat, releaseLease } from './leases.ts';
import type { SessionRow } from './session-row.ts';
import {
  activateSession,
  createSession,
  deleteSession,
  markDamaged,
  patchSession,
  purgeSession,
  restoreSession,
} from './sessions.ts';
import { storeError } from './store-error.ts';

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

/** What leaves the transcript of its session as it is. */
const QUIET_OPS: ReadonlySet<WriteOp> = new Set(['create', 'purge', 'acquire', 'beat', 'release', 'take']);

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
  #commits = 0;
  /** The last failed commit could not even be looked up. */
  #unresolved = false;

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
    const commit = ++this.#commits;
    let outcomes: WriteOutcome[] = [];
    let changed: string[] = [];
    let purged: readonly SessionRow[] = [];
    try {
      this.#context.db.transaction(() => {
        this.#follower?.inspect(sessionsOf(requests));
        this.#follower?.followAll();
        const batch = new Batch(this.#context);
        outcomes = requests.map((request) => runOne(batch, request));
        purged = batch.purged;
        changed = batch.flush();
        this.#sign(commit);
      });
    } catch (error) {
      const failure = storeError(error);
      if (!this.#hasHappened(commit, failure)) {
        const none = this.#failedFor(failure);
        outcomes = requests.map(() => ({ ok: false, error: none }));
        changed = [];
        purged = [];
      }
    }
    // Only now: a purge that did not commit has destroyed nothing.
    for (const row of purged) this.#follower?.forget(row);
    this.#follower?.expect(changed);
    for (const [i, { done }] of requests.entries()) {
      const outcome = outcomes[i];
      if (outcome !== undefined) done(outcome);
    }
    if (changed.length > 0) this.#onChange(changed);
  }

  /** A note inside the transaction that only this engine writes: whether a commit happened can be looked up. */
  #sign(commit: number): void {
    this.#context.db.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', this.#mark, String(commit));
  }

  /** On the way out: the signature is of use to nobody else. */
  forgetCommits(): void {
    try {
      this.#context.db.transaction(
        () => this.#context.db.run('DELETE FROM meta WHERE name = ?', this.#mark),
        { lazy: true },
      );
    } catch {
      // A leftover of a few bytes is no reason to fail on closing.
    }
  }

  get #mark(): string {
    return `commit:${this.#context.self.engineId}`;
  }

  /** A commit that failed may have happened all the same. Its signature knows, and then every answer is true (P2). */
  #hasHappened(commit: number, failure: RepriseError): boolean {
    this.#unresolved = failure.outcome === 'unknown';
    if (!this.#unresolved) return false;
    try {
      this.#context.db.reopen();
      const row = this.#context.db.row<{ value: string }>(
        'SELECT value FROM meta WHERE name = ?',
        this.#mark,
      );
      const happened = row?.value === String(commit);
      // What a failed fsync left may stand in the page cache only. Copied into the database and synced, it is safe.
      if (happened) this.#context.db.checkpoint();
      this.#unresolved = false;
      return happened;
    } catch {
      // Still broken: nobody knows, and everybody is told so.
      return false;
    }
  }

  #failedFor(failure: RepriseError): RepriseError {
    if (this.#unresolved || failure.outcome === 'none') return failure;
    return new RepriseError(failure.code, failure.message, {
      cause: failure,
      outcome: 'none',
      details: failure.details,
    });
  }
}

/** The sessions requests name, and why their files are looked at before. */
function sessionsOf(requests: readonly WriteRequest[]): Map<string, Visit> {
  const visits = new Map<string, Visit>();
  for (const { op, args } of requests) {
    const { id } = args as { id?: string };
    if (id === undefined) continue;
    if (op === 'damaged') visits.set(id, 'compare');
    else if (visits.get(id) !== 'compare' && !QUIET_OPS.has(op)) visits.set(id, 'write');
    else if (!visits.has(id)) visits.set(id, 'look');
  }
  return visits;
}

function runOne(batch: Batch, { op, args }: WriteRequest): WriteOutcome {
  try {
    return { ok: true, value: WRITE_OPS[op](batch, args as never) };
  } catch (error) {
    // A refusal touches nothing, so the others of the batch go on. Anything else fails the transaction.
    if (error instanceof RepriseError) return { ok: false, error };
    throw error;
  }
}
