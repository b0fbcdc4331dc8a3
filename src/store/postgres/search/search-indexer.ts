import { setTimeout as delay } from 'node:timers/promises';
import type { SearchIndexStats } from '../../port/stats.ts';
import type { StoreContext } from '../connection/transaction.ts';
import { forgetIndexed, indexSession } from './search-blocks.ts';

export interface SearchIndexerOptions {
  readonly context: StoreContext;
  /** Delay after a change, so that consecutive messages are indexed together. */
  readonly pauseMs?: number;
  /** Interval at which to look for work that another node left. */
  readonly pollMs?: number;
  /** A node that does not renew its claim for this long no longer indexes. */
  readonly claimMs?: number;
}

const SESSIONS_AT_ONCE = 100;
/** After each part of the work, rest this many times its duration: while this node writes, and while it does not. */
const BUSY_REST = 20;
const REST = 1;
const LONGEST_REST_MS = 2_000;
/** After a change, the store counts as busy for this long. */
const QUIET_MS = 300;

const CLAIM = `INSERT INTO reprise.search_claim AS c (holder, expires_at)
  VALUES ($1, clock_timestamp() + $2 * interval '1 millisecond')
  ON CONFLICT (one) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
    WHERE c.holder = excluded.holder OR c.expires_at < clock_timestamp()
  RETURNING 1 AS one`;

/**
 * Indexes in the background: after changes, and at intervals. One node at a time does it, by a claim with an expiry;
 * two would only do the same work twice. Searches do not need an up-to-date index, because they read the lines that
 * it lacks.
 */
export class SearchIndexer implements AsyncDisposable {
  readonly #context: StoreContext;
  readonly #pauseMs: number;
  readonly #pollMs: number;
  readonly #claimMs: number;
  readonly #closing: AbortController = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #claimedAt: number = Number.NEGATIVE_INFINITY;
  #problem: string | undefined;
  #due = 0;
  #newsAt: number = Number.NEGATIVE_INFINITY;
  #restUntil = 0;

  constructor({ context, pauseMs = 250, pollMs = 5_000, claimMs = 10_000 }: SearchIndexerOptions) {
    this.#context = context;
    this.#pauseMs = pauseMs;
    this.#pollMs = pollMs;
    this.#claimMs = claimMs;
    this.#soon(pauseMs);
  }

  /** Called after an append. */
  wake(): void {
    this.#newsAt = performance.now();
    if (this.#running === undefined) this.#soon(this.#pauseMs);
  }

  /** Rebuilds the index session by session. Searches read the sessions that are not indexed yet. */
  async reindex(): Promise<void> {
    for await (const ids of this.#all('true')) {
      for (const id of ids) {
        await forgetIndexed(this.#context, id);
        while (!(await indexSession(this.#context, id)));
      }
    }
  }

  async stats(): Promise<SearchIndexStats> {
    const [row] = await this.#context.connections.query<{ done: number; total: number; bytes: number }>(
      `SELECT coalesce(sum(indexed_seq), 0)::bigint AS done, coalesce(sum(seq), 0)::bigint AS total,
         pg_total_relation_size('reprise.search_blocks') AS bytes FROM reprise.sessions`,
    );
    const { done = 0, total = 0, bytes = 0 } = row ?? {};
    return { done, total, bytes, ...(this.#problem !== undefined && { problem: this.#problem }) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Starts a run after a delay, or earlier if one is already scheduled earlier. */
  #soon(ms: number): void {
    if (this.#closing.signal.aborted) return;
    const due = performance.now() + ms;
    if (this.#timer !== undefined && this.#due <= due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
      });
    }, ms).unref();
  }

  async #run(): Promise<void> {
    let next = this.#pollMs;
    try {
      if (!(await this.#sweep())) next = this.#pauseMs;
      this.#problem = undefined;
    } catch (error) {
      // Searches work without the index. `stats` reports the problem, and the next run may succeed.
      this.#problem = error instanceof Error ? error.message : String(error);
    }
    this.#soon(next);
  }

  /** Indexes all sessions with new lines once. @returns true if there were none, or if another node is indexing. */
  async #sweep(): Promise<boolean> {
    let isClean = true;
    let failure: unknown;
    for await (const ids of this.#all('unindexed')) {
      for (const id of ids) {
        if (this.#closing.signal.aborted) break;
        if (!(await this.#claim())) return true;
        isClean = false;
        try {
          while (!this.#closing.signal.aborted && !(await this.#indexSome(id))) await this.#claim();
        } catch (error) {
          // A session that cannot be indexed must not block the others.
          failure ??= error;
        }
      }
    }
    if (!isClean) await this.#release();
    if (failure !== undefined) throw failure;
    return isClean;
  }

  /** Indexes part of a session and then rests, because the node and the server need the CPU for other work. */
  async #indexSome(id: string): Promise<boolean> {
    const { signal } = this.#closing;
    const pause = this.#restUntil - performance.now();
    // The signal ends the wait when the store closes.
    if (pause > 0) await delay(pause, undefined, { signal, ref: false }).catch(() => undefined);
    const startedAt = performance.now();
    try {
      return await indexSession(this.#context, id);
    } finally {
      const now = performance.now();
      const share = now - this.#newsAt < QUIET_MS ? BUSY_REST : REST;
      this.#restUntil = now + Math.min(LONGEST_REST_MS, share * (now - startedAt));
    }
  }

  /** All sessions by id, in pages; includes every session that exists for the whole time. */
  async *#all(where: string): AsyncGenerator<string[]> {
    for (let after = ''; !this.#closing.signal.aborted; ) {
      const rows = await this.#context.connections.query<{ id: string }>(
        `SELECT id FROM reprise.sessions WHERE ${where} AND id > $1 ORDER BY id LIMIT ${SESSIONS_AT_ONCE}`,
        [after],
      );
      const ids = rows.map(({ id }) => id);
      const last = ids.at(-1);
      if (last === undefined) return;
      yield ids;
      after = last;
    }
  }

  /** Claims the right to index, or renews it long before it expires. */
  async #claim(): Promise<boolean> {
    const now = performance.now();
    if (now - this.#claimedAt < this.#claimMs / 4) return true;
    const { connections, self } = this.#context;
    const rows = await connections.query(CLAIM, [self.engineId, this.#claimMs]);
    const isOurs = rows.length > 0;
    this.#claimedAt = isOurs ? now : Number.NEGATIVE_INFINITY;
    return isOurs;
  }

  async #release(): Promise<void> {
    this.#claimedAt = Number.NEGATIVE_INFINITY;
    const { connections, self } = this.#context;
    await connections.query('DELETE FROM reprise.search_claim WHERE holder = $1', [self.engineId]);
  }
}
