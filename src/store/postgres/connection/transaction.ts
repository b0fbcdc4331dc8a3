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

/** What is new after a commit: ids of sessions with new lines, and of those whose inbox changed. */
export interface News {
  readonly sessions: ReadonlySet<string>;
  readonly inboxes: ReadonlySet<string>;
}

export interface StoreContext {
  readonly connections: Connections;
  /** ISO time of the next entry. */
  readonly now: () => string;
  readonly self: NodeHolder;
  /** Called after a commit that has something new. */
  readonly tell: (news: News) => void;
  readonly timeline: ServerTimeline;
}

const MAX_TRIES = 6;
const RETRY_MS = 4;
const RESOLVE_PAUSE_MS = 25;

/** What identifies a transaction to whoever asks later what became of it. */
interface Begun {
  readonly xid: string;
  /** Of the server: in another one the same number may be somebody else's. */
  readonly life: string;
  /** The copy into this database that is not finished. */
  readonly copying?: string | null;
  /** Nobody is granted a lease below it. */
  readonly epoch_floor?: number | null;
}

export interface TransactionOptions {
  /** Of the only one who may write while a copy is not finished. */
  readonly isCopy?: boolean;
  /** For what takes as long as there are rows. */
  readonly isLong?: boolean;
}

/** As good as no limit, and still an end where the server has vanished without a word. */
const LONG_MS = 24 * 60 * 60_000;

/**
 * The history the server writes, when it was started, and when it last lost its statistics, which happens whenever it
 * recovers from a crash. A number that was given out and not yet on disk is given out again after a crash, so that
 * "committed" may then be said of somebody else's transaction.
 */
const LIFE = `concat_ws(' ', substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
  extract(epoch FROM pg_postmaster_start_time()), extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time()))`;
const BEGUN = `SELECT pg_current_xact_id()::text AS xid, ${LIFE} AS life`;
/** Not for a copy: it locks the table it would have looked at, and two of them would wait for each other. */
const BEGUN_HERE = `${BEGUN}, copying, epoch_floor FROM (VALUES (1)) AS one
  LEFT JOIN (SELECT CASE WHEN NOT finished THEN run END AS copying, epoch_floor FROM reprise.copies) AS c ON true`;

/**
 * Runs `work` in a transaction and commits. It may run several times: where transactions collide, and where the
 * connection is lost before the commit, nothing has happened and it is done again. Whatever it keeps outside `tx` must
 * not mind. A commit whose answer was lost is looked up; only where nobody can say is the outcome `unknown`.
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
    // Done again by whoever retries: nothing has happened.
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
  /** Set where the commit was not answered: why. */
  readonly lost?: unknown;
}

/** Its connection is given back in the end: whoever asks what became of a commit needs a place in the pool. */
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
      // Answered long ago, unless the work has waited for nothing.
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
    // The connection goes instead, and takes the transaction with it.
    return false;
  }
}

type Fate = 'committed' | 'aborted' | 'unknown';

/** Answers why, if nobody knows whether it has happened; throws where it has not. */
async function commit(
  client: pg.PoolClient,
  tx: Tx,
  { isPipelined, limitMs }: { readonly isPipelined: boolean; readonly limitMs: number },
): Promise<unknown> {
  let command: string;
  try {
    if (!isPipelined) await tx.settled();
    // It is answered behind all that was sent before it, and so has as much time as any of that.
    ({ command } = await client.query(limited('COMMIT', limitMs)));
  } catch (error) {
    // A statement that was refused takes its transaction with it, whatever became of the connection afterwards.
    if (isRefusal(tx.failure)) throw tx.failure;
    if (!isRefusedCommit(error)) return error;
    throw error;
  }
  // One that had failed before is rolled back by its commit.
  if (command === 'COMMIT') return undefined;
  await tx.settled();
  throw tx.failure ?? failure('STORE_FAILED', 'postgres.rolledBack', {}, { outcome: 'none' });
}

/** What became of a transaction whose commit was not answered, or in the agony of a server, by the server's own books. */
async function resolve(connections: Connections, begun: Promise<Begun | undefined>): Promise<Fate> {
  const known = await begun.catch(() => undefined);
  if (known === undefined) return 'unknown';
  // As long as we would wait for a server that is not there.
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
      // The server may be on its way back.
    }
    await delay(RESOLVE_PAUSE_MS);
  }
  return 'unknown';
}
