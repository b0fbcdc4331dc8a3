import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { RepriseError } from '../../errors.ts';
import type { Connections } from './connections.ts';
import type { NodeHolder } from './holder.ts';
import { isCollision, isLost, pgError } from './pg-error.ts';
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
}

const MAX_TRIES = 6;
const RETRY_MS = 4;
const RESOLVE_PAUSE_MS = 25;

/** What identifies a transaction to whoever asks later what became of it. */
interface Begun {
  readonly xid: string;
  /** Of the server: after a failover to another history the same number may be somebody else's. */
  readonly timeline: string;
}

const TIMELINE = 'substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)';
const BEGUN = `SELECT pg_current_xact_id()::text AS xid, ${TIMELINE} AS timeline`;

/**
 * Runs `work` in a transaction and commits. It may run several times: where transactions collide, and where the
 * connection is lost before the commit, nothing has happened and it is done again. Whatever it keeps outside `tx` must
 * not mind. A commit whose answer was lost is looked up; only where nobody can say is the outcome `unknown`.
 */
export async function transaction<T>(context: StoreContext, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await once(context, work);
    } catch (error) {
      const isDead = isLost(error) && pgError(error).code === 'STORE_FAILED';
      if (!(isCollision(error) || isDead) || tries >= MAX_TRIES) throw context.connections.error(error);
      await delay(RETRY_MS * tries * Math.random());
    }
  }
}

async function once<T>(context: StoreContext, work: (tx: Tx) => Promise<T>): Promise<T> {
  const { connections } = context;
  const client = await connections.take();
  let isUsable = false;
  try {
    const tx = new Tx(client, context);
    const { pooler, statementTimeoutMs } = connections.settings;
    const limit = pooler ? `SET LOCAL statement_timeout = ${statementTimeoutMs};` : '';
    const begun = tx.query<Begun>(`BEGIN; ${limit} ${BEGUN}`).then(([row]) => row);
    // Of use only where the commit's own answer is lost.
    begun.catch(() => undefined);
    let value: T;
    try {
      value = await work(tx);
      tx.flush();
    } catch (error) {
      const failure = tx.failure ?? error;
      isUsable = !isLost(failure) && (await rollback(tx));
      throw failure;
    }
    isUsable = await commit(client, tx, {
      isPipelined: !pooler,
      resolveFate: () => resolve(connections, begun),
    });
    if (tx.news.sessions.size > 0 || tx.news.inboxes.size > 0) context.tell(tx.news);
    return value;
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

interface CommitOptions {
  readonly isPipelined: boolean;
  readonly resolveFate: () => Promise<Fate>;
}

/** True when the connection can be used again. Throws where the transaction has not happened, or nobody knows. */
async function commit(
  client: pg.PoolClient,
  tx: Tx,
  { isPipelined, resolveFate }: CommitOptions,
): Promise<boolean> {
  try {
    if (!isPipelined) await tx.settled();
    const { command } = await client.query('COMMIT');
    // One that had failed before is rolled back by its commit.
    if (command === 'COMMIT') return true;
    await tx.settled();
    throw tx.failure ?? new RepriseError('STORE_FAILED', 'the server rolled back', { outcome: 'none' });
  } catch (error) {
    if (!isLost(error)) throw tx.failure ?? error;
    const fate = await resolveFate();
    if (fate === 'committed') return false;
    // Done again by whoever retries: nothing has happened.
    if (fate === 'aborted') throw error;
    throw pgError(error, 'unknown');
  }
}

/** What became of a transaction whose commit was not answered, by the server's own books. */
async function resolve(connections: Connections, begun: Promise<Begun | undefined>): Promise<Fate> {
  const known = await begun.catch(() => undefined);
  if (known === undefined) return 'unknown';
  // As long as we would wait for a server that is not there.
  const deadline = performance.now() + connections.settings.connectTimeoutMs;
  while (performance.now() < deadline) {
    try {
      const [row] = await connections.query<{ status: string | null; timeline: string }>(
        `SELECT pg_xact_status($1::xid8) AS status, ${TIMELINE} AS timeline`,
        [known.xid],
      );
      if (row === undefined || row.timeline !== known.timeline) return 'unknown';
      if (row.status === 'committed' || row.status === 'aborted') return row.status;
    } catch {
      // The server may be on its way back.
    }
    await delay(RESOLVE_PAUSE_MS);
  }
  return 'unknown';
}
