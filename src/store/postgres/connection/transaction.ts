import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { failure } from '../../../messages/failure.ts';
import { notFinished } from '../../copy/copy-state.ts';
import { onlyRead } from '../../rules/refusals.ts';
import type { NodeHolder } from '../write/holder.ts';
import { type Connections, limited } from './connections.ts';
import { isCollision, isLost, isRefusal, isRefusedCommit, isUseless, pgError } from './pg-error.ts';
import { type ServerTimeline, skippedEpochs } from './server-timeline.ts';
import { Tx } from './tx.ts';

/** The changes of a commit: sessions with new lines, and sessions whose inbox changed. */
export interface News {
  readonly sessions: ReadonlySet<string>;
  readonly inboxes: ReadonlySet<string>;
}

export interface StoreContext {
  readonly connections: Connections;
  /** Returns the ISO time for the next entry. */
  readonly now: () => string;
  readonly self: NodeHolder;
  /** Called after a commit with changes. */
  readonly tell: (news: News) => void;
  readonly timeline: ServerTimeline;
}

const MAX_TRIES = 6;
const RETRY_MS = 4;
const RESOLVE_PAUSE_MS = 25;

/** Identifies a transaction, to look up later what became of it. */
interface Begun {
  readonly xid: string;
  /** The life of the server (see `LIFE`): in another one, the same number may belong to another transaction. */
  readonly life: string;
  /** The unfinished copy into this database, if any. */
  readonly copying?: string | null;
  /** New leases get an epoch above this. */
  readonly epoch_floor?: number | null;
}

export interface TransactionOptions {
  /** Set for the copy itself, which alone may write while it is unfinished. */
  readonly isCopy?: boolean;
  /** Set for work whose duration depends on the number of rows. */
  readonly isLong?: boolean;
}

/** Practically no limit, but it ends if the server disappears. */
const LONG_MS = 24 * 60 * 60_000;

/**
 * Identifies the life of a server: the timeline it writes, its start time, and the time it last reset its statistics,
 * which happens at every crash recovery. A transaction id that was assigned but not yet on disk is assigned again
 * after a crash, so "committed" could then describe another transaction.
 */
const LIFE = `concat_ws(' ', substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
  extract(epoch FROM pg_postmaster_start_time()), extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()))`;
const BEGUN = `SELECT pg_current_xact_id()::text AS xid, ${LIFE} AS life`;
/** Not used for a copy: it locks the `copies` table that this statement reads, and two copies would deadlock. */
const BEGUN_HERE = `${BEGUN}, copying, epoch_floor FROM (VALUES (1)) AS one
  LEFT JOIN (SELECT CASE WHEN NOT finished THEN run END AS copying, epoch_floor FROM reprise.copies) AS c ON true`;

/**
 * Runs `work` in a transaction and commits. `work` may run several times: after a conflict, and if the connection is
 * lost before the commit, nothing has happened and it is repeated. State that it keeps outside `tx` must allow that.
 * If the answer to a commit is lost, its result is looked up; the outcome is `unknown` only if that fails.
 */
export async function transaction<T>(
  context: StoreContext,
  work: (tx: Tx) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  if (context.connections.settings.readOnly) throw onlyRead();
  for (let tries = 1; ; tries++) {
    try {
      return await once(context, work, options);
    } catch (error) {
      const isDead = isLost(error) && pgError(error).code === 'STORE_FAILED';
      if (!(isCollision(error) || isDead) || tries >= MAX_TRIES) throw context.connections.error(error);
      await delay(RETRY_MS * tries * Math.random());
    }
  }
}

async function once<T>(
  context: StoreContext,
  work: (tx: Tx) => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  const { value, news, lost, begun } = await run(context, work, options);
  if (lost !== undefined) {
    const fate = await resolve(context.connections, begun);
    // Nothing has happened, so the caller may retry.
    if (fate === 'aborted') throw lost;
    if (fate === 'unknown') throw pgError(lost, 'unknown');
  }
  if (news.sessions.size > 0 || news.inboxes.size > 0) context.tell(news);
  return value;
}

interface Run<T> {
  readonly value: T;
  readonly news: News;
  readonly begun: Promise<Begun | undefined>;
  /** Set if the commit got no answer: the error. */
  readonly lost?: unknown;
}

/** Returns its connection before the lookup of a commit, which needs a connection of the pool. */
async function run<T>(
  context: StoreContext,
  work: (tx: Tx) => Promise<T>,
  { isCopy = false, isLong = false }: TransactionOptions,
): Promise<Run<T>> {
  const { connections } = context;
  const client = await connections.take();
  let isUsable = false;
  try {
    const { pooler, statementTimeoutMs, idleTransactionMs } = connections.settings;
    const limitMs = isLong ? LONG_MS : statementTimeoutMs;
    const tx = new Tx(client, context, { limitMs });
    const idle = `SET LOCAL idle_in_transaction_session_timeout = ${isLong ? limitMs : idleTransactionMs};`;
    const limit = pooler || isLong ? `SET LOCAL statement_timeout = ${limitMs}; ${idle}` : '';
    const begun = tx
      .query<Begun>(`BEGIN; ${limit} ${connections.isOpen && !isCopy ? BEGUN_HERE : BEGUN}`)
      .then(([row]) => row);
    begun.catch(() => undefined);
    tx.epochFloor = async () => {
      const { epoch_floor, life } = (await begun) ?? {};
      return (epoch_floor ?? 0) + (life === undefined ? 0 : skippedEpochs(life));
    };
    let value: T;
    try {
      value = await work(tx);
      // Usually answered already, because the work has waited for a later statement.
      const { copying, life } = (await begun) ?? {};
      if (life !== undefined) context.timeline.note(life);
      if (copying != null) throw notFinished(copying);
      tx.flush();
    } catch (error) {
      const failure = tx.failure ?? error;
      isUsable = !isUseless(failure) && (await rollback(tx));
      throw failure;
    }
    const lost = await commit(client, tx, { isPipelined: !pooler, limitMs });
    isUsable = lost === undefined;
    return { value, news: tx.news, begun, ...(lost !== undefined && { lost }) };
  } finally {
    client.release(!isUsable);
  }
}

async function rollback(tx: Tx): Promise<boolean> {
  try {
    await tx.query('ROLLBACK');
    return true;
  } catch {
    // The connection is closed instead, which ends the transaction.
    return false;
  }
}

type Fate = 'committed' | 'aborted' | 'unknown';

/** Commits. @returns the error if the result is unknown; throws if nothing was committed. */
async function commit(
  client: pg.PoolClient,
  tx: Tx,
  { isPipelined, limitMs }: { readonly isPipelined: boolean; readonly limitMs: number },
): Promise<unknown> {
  let command: string;
  try {
    if (!isPipelined) await tx.settled();
    // COMMIT is answered after all statements sent before it, so it gets the longest of their timeouts.
    ({ command } = await client.query(limited('COMMIT', limitMs)));
  } catch (error) {
    // A refused statement rolls back its transaction, whatever happened to the connection afterwards.
    if (isRefusal(tx.failure)) throw tx.failure;
    if (!isRefusedCommit(error)) return error;
    throw error;
  }
  // PostgreSQL answers COMMIT with ROLLBACK if an earlier statement failed.
  if (command === 'COMMIT') return undefined;
  await tx.settled();
  throw tx.failure ?? failure('STORE_FAILED', 'postgres.rolledBack', {}, { outcome: 'none' });
}

/** Looks up the result of a transaction whose commit got no answer, or an answer from a failing server. */
async function resolve(connections: Connections, begun: Promise<Begun | undefined>): Promise<Fate> {
  const known = await begun.catch(() => undefined);
  if (known === undefined) return 'unknown';
  // Wait as long as for a connection to a missing server.
  const deadline = performance.now() + connections.settings.connectTimeoutMs;
  while (performance.now() < deadline) {
    try {
      const [row] = await connections.query<{ status: string | null; same: boolean }>(
        `SELECT life = $2 AS same, CASE WHEN life = $2 THEN pg_xact_status($1::xid8) END AS status
         FROM (SELECT ${LIFE} AS life) AS now`,
        [known.xid, known.life],
      );
      if (row?.same !== true) return 'unknown';
      if (row.status === 'committed' || row.status === 'aborted') return row.status;
    } catch {
      // The server may be restarting.
    }
    await delay(RESOLVE_PAUSE_MS);
  }
  return 'unknown';
}
