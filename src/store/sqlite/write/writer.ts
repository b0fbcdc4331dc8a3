import { RepriseError } from '../../../errors.ts';
import { failure, sameFailure } from '../../../messages/failure.ts';
import type { Follower, FreshRow, Visit } from '../../jsonl/follower.ts';
import type { PurgeOptions } from '../../port/purge.ts';
import type { ReceiveRequest } from '../../rules/inbound.ts';
import { unfinishedCopy } from '../copy/transfer-state.ts';
import type { Database } from '../database.ts';
import type { SessionRow } from '../session-row.ts';
import { storeError } from '../store-error.ts';
import type { CommittedChanges } from '../threads/protocol.ts';
import { Batch, type BatchContext } from './batch.ts';
import type { Erasure } from './erasure.ts';
import { inboxChanges } from './inbox-rows.ts';
import { activeSession } from './sessions.ts';
import { COPY_OPS, QUIET_OPS, WRITE_OPS, type WriteOp } from './write-ops.ts';

export interface WriteRequest {
  readonly op: WriteOp;
  readonly args: unknown;
  readonly done: (outcome: WriteOutcome) => void;
}

/** What a commit has changed for others: the sessions with new lines, and inbox rows. */
export interface Committed {
  readonly sessions: readonly string[];
  readonly inbox: CommittedChanges | undefined;
}

export type WriteOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: RepriseError };

const MAX_BATCH = 256;
/** After this long without a pause, other processes get a turn. */
const FAIR_RUN_MS = 20;
const FAIR_PAUSE_MS = 2;

/**
 * Group commit: requests that arrive during a transaction form the next one, and one fsync serves them all. Every
 * answer is sent after the commit (P1).
 */
export class Writer {
  readonly #context: BatchContext;
  readonly #follower: Follower | undefined;
  readonly #erasure: Erasure;
  /** Called after the answers of a commit were sent, with the sessions that have new lines. */
  readonly #onCommit: (committed: Committed) => void;
  /** The number of the newest inbox change that was reported. */
  #inboxAt: number;
  #queue: WriteRequest[] = [];
  #scheduled = false;
  #busySince: number | undefined;
  #followTimer: NodeJS.Timeout | undefined;
  #isOver = false;
  #commits: number;
  /** The last commit failed, and whether it happened could not be looked up. */
  #unresolved = false;

  constructor(
    context: BatchContext,
    { follower, erasure }: { readonly follower: Follower | undefined; readonly erasure: Erasure },
    onCommit: (committed: Committed) => void,
  ) {
    this.#context = context;
    this.#follower = follower;
    this.#erasure = erasure;
    this.#onCommit = onCommit;
    this.#inboxAt = inboxChanges(context.db, undefined).at;
    // A thread that replaces a dead one continues the numbering: each number is used once, or it would prove nothing.
    this.#commits = Math.abs(this.#lastCommit());
  }

  submit(request: WriteRequest): void {
    this.#queue.push(request);
    this.#schedule(0);
  }

  /**
   * Processes everything submitted so far at once, so that closing the store leaves no request unanswered. Refuses
   * later requests.
   */
  finish(): void {
    this.#isOver = true;
    clearTimeout(this.#followTimer);
    while (this.#queue.length > 0) this.#queue.splice(0, this.#commit(this.#queue.slice(0, MAX_BATCH)));
  }

  #schedule(delayMs: number): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    const run = (): void => {
      this.#scheduled = false;
      if (!this.#isOver) this.#runBatch();
    };
    if (delayMs > 0) setTimeout(run, delayMs);
    else setImmediate(run);
  }

  #runBatch(): void {
    if (this.#queue.length > 0) this.#queue.splice(0, this.#commit(this.#queue.slice(0, MAX_BATCH)));
    const now = performance.now();
    if (this.#queue.length === 0) {
      this.#busySince = undefined;
      this.#followSoon();
      return;
    }
    this.#busySince ??= now;
    const mustPause = now - this.#busySince > FAIR_RUN_MS;
    if (mustPause) this.#busySince = undefined;
    this.#schedule(mustPause ? FAIR_PAUSE_MS : 0);
  }

  /** The next batch also updates the files. If none comes soon, the timer does it. */
  #followSoon(): void {
    const dueIn = this.#follower?.dueIn;
    if (dueIn === undefined || this.#followTimer !== undefined) return;
    this.#followTimer = setTimeout(() => {
      this.#followTimer = undefined;
      if (this.#queue.length === 0) this.followNow();
    }, dueIn);
  }

  /** Updates the files in a commit without fsync. */
  followNow(): void {
    if (this.#follower?.hasWork !== true) return;
    try {
      this.#context.db.transaction(() => this.#follower?.followAll(), { lazy: true });
    } catch {
      // The journal still has everything; the sweep retries.
    }
  }

  /** Processes as many requests as fit into one transaction, from the first one. @returns their number. */
  #commit(requests: readonly WriteRequest[]): number {
    const commit = ++this.#commits;
    let outcomes: WriteOutcome[] = [];
    let fresh: readonly FreshRow[] = [];
    let purged: readonly SessionRow[] = [];
    let inbox: CommittedChanges | undefined;
    try {
      this.#context.db.transaction(() => {
        this.#catchUp(requests);
        const { rows } = this.#context;
        rows.begin();
        const batch = new Batch(this.#context);
        outcomes = [];
        let refusal = unfinishedCopy(batch.db);
        for (const request of requests) {
          if (batch.isFull) break;
          const isCopy = COPY_OPS.has(request.op);
          outcomes.push(
            refusal === undefined || isCopy ? runOne(batch, request) : { ok: false, error: refusal },
          );
          if (isCopy) refusal = unfinishedCopy(batch.db);
        }
        purged = batch.purged;
        fresh = batch.flush();
        inbox = this.#inboxChanges();
        this.#sign(commit);
        rows.end();
      });
      this.#context.blobs.settle(true);
    } catch (error) {
      const failure = storeError(error);
      this.#context.rows.clear();
      if (failure.code === 'STORE_FULL') this.#context.space?.look();
      const hasHappened = this.#hasHappened(commit, failure);
      this.#context.blobs.settle(hasHappened || this.#unresolved);
      if (!hasHappened) {
        const none = this.#failedFor(failure);
        // Requests that did not fit were not tried. If the transaction could not begin, all of them fail, so none
        // waits for it again.
        const failed = outcomes.length === 0 ? requests : outcomes;
        outcomes = failed.map(() => ({ ok: false, error: none }));
        fresh = [];
        purged = [];
        inbox = undefined;
      }
    }
    // After the commit only: a failed purge must not destroy anything.
    for (const row of purged) this.#follower?.forget(row);
    if (purged.length > 0) outcomes = this.#erase(requests, outcomes);
    this.#follower?.expect(fresh);
    for (const [i, { done }] of requests.entries()) {
      const outcome = outcomes[i];
      if (outcome !== undefined) done(outcome);
    }
    if (inbox !== undefined) this.#inboxAt = inbox.at;
    this.#onCommit({ sessions: fresh.map(({ id }) => id), inbox });
    return outcomes.length;
  }

  /** A purge succeeds if nothing is left, otherwise it fails with the reason. One pass serves the whole batch. */
  #erase(requests: readonly WriteRequest[], outcomes: readonly WriteOutcome[]): WriteOutcome[] {
    let cause: RepriseError | undefined;
    try {
      this.#erasure.run();
    } catch (error) {
      cause = storeError(error);
    }
    return outcomes.map((outcome, i) => {
      const request = requests[i];
      if (request?.op !== 'purge' || !outcome.ok) return outcome;
      const args = request.args as PurgeOptions & { readonly id: string };
      if (cause !== undefined) return { ok: false, error: notErased(args.id, cause) };
      return { ok: true, value: this.#erasure.receipt(args) };
    });
  }

  /** Before any line is numbered: read files that differ from the index, and update files that are due. */
  #catchUp(requests: readonly WriteRequest[]): void {
    const follower = this.#follower;
    if (follower === undefined) return;
    const { rows } = this.#context;
    rows.begin();
    const visits = new Map<SessionRow, Visit>();
    for (const [id, visit] of sessionsOf(requests, this.#context.db)) {
      const row = rows.find(id);
      if (row !== undefined) visits.set(row, visit);
    }
    follower.inspect(visits);
    if (follower.dueIn === 0) follower.followAll();
  }

  /** Writes a number that only this engine writes, to look up later whether a commit happened. */
  #sign(commit: number): void {
    const { db, self } = this.#context;
    db.run('INSERT OR REPLACE INTO commits VALUES (?, ?)', self.engineId, commit);
  }

  /** Read inside the transaction that made the changes, so that no caller has to ask for them afterwards. */
  #inboxChanges(): CommittedChanges | undefined {
    const after = this.#inboxAt;
    const changes = inboxChanges(this.#context.db, after);
    return changes.at === after ? undefined : { after, ...changes };
  }

  /** Called when the store closes: the commit number is of no use to other engines. */
  forgetCommits(): void {
    const { db, self } = this.#context;
    try {
      db.transaction(() => db.run('DELETE FROM commits WHERE engine = ?', self.engineId), { lazy: true });
    } catch {
      // A leftover row of a few bytes must not fail the close.
    }
  }

  /**
   * Whether a failed commit happened after all. Its number in the database shows it, so every answer is true (P2).
   */
  #hasHappened(commit: number, failure: RepriseError): boolean {
    this.#unresolved = failure.outcome === 'unknown';
    if (!this.#unresolved) return false;
    try {
      const { db } = this.#context;
      db.reopen();
      // Under the write lock, which also ensures that these are the files all processes use.
      const happened = db.transaction(
        () => {
          if (this.#lastCommit() === commit) return true;
          // If only the sync failed, the whole commit is in the log, and a crash would bring it back; the next write
          // replaces it. On a full disk the end of the commit was never written, and nothing else can be.
          if (failure.code !== 'STORE_FULL') this.#sign(-commit);
          return false;
        },
        { lazy: true },
      );
      // After a failed fsync the data may exist only in the page cache. Copying it into the database and syncing
      // makes it safe.
      if (happened || failure.code !== 'STORE_FULL') db.checkpoint();
      this.#unresolved = false;
      return happened;
    } catch {
      // Still failing: the outcome is unknown, and the callers' errors say so.
      return false;
    }
  }

  /** Negative: the commit with that number is known not to have happened. */
  #lastCommit(): number {
    const { db, self } = this.#context;
    const sql = 'SELECT number FROM commits WHERE engine = ?';
    return db.row<{ number: number }>(sql, self.engineId)?.number ?? 0;
  }

  #failedFor(error: RepriseError): RepriseError {
    if (this.#unresolved || error.outcome === 'none') return error;
    return sameFailure(error, { outcome: 'none' });
  }
}

function notErased(id: string, cause: RepriseError): RepriseError {
  const { code, details } = cause;
  return failure(code, 'session.notErased', { id, cause: code }, { cause, outcome: 'unknown', details });
}

/** The sessions that requests name, and why their files are checked first. */
function sessionsOf(requests: readonly WriteRequest[], db: Database): Map<string, Visit> {
  const visits = new Map<string, Visit>();
  for (const { op, args } of requests) {
    const { id, deliver = [] } = args as { id?: string; deliver?: readonly ReceiveRequest[] };
    // A reset writes a line to the session it ends.
    for (const inbound of op === 'receive' ? [args as ReceiveRequest] : deliver) {
      const left = inbound.reset === undefined ? undefined : activeSession(db, inbound.sessionKey);
      if (left !== undefined && visits.get(left) !== 'compare') visits.set(left, 'write');
    }
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
    // A refusal changes nothing, so the rest of the batch continues. Any other error fails the transaction.
    if (error instanceof RepriseError) return { ok: false, error };
    throw error;
  }
}
