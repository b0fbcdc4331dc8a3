import type { CopyState } from '../../copy/copy-state.ts';
import type { SessionCopy, TransferState } from '../../port/transfer.ts';
import type { Sql } from '../connection/connections.ts';
import { skippedEpochs, TIMELINE } from '../connection/server-timeline.ts';
import type { Tx } from '../connection/tx.ts';

/** The single row of `copies`: the progress of a copy into this database. */
interface CopyRow {
  readonly run: string;
  readonly cursor: string | null;
  readonly finished: boolean;
  readonly epoch: number;
  readonly session: string | null;
}

const COLUMNS = 'run, cursor, finished, epoch, session';
const TABLES = ['sessions', 'inbox', 'inbound_keys', 'convlog_chats', 'purged'];
const EMPTY = `SELECT NOT (${[
  ...TABLES.map((table) => `EXISTS (SELECT 1 FROM reprise.${table})`),
  'EXISTS (SELECT 1 FROM reprise.active WHERE counter > 0)',
].join(' OR ')}) AS empty`;

export async function isEmpty(sql: Sql): Promise<boolean> {
  const [row] = await sql.query<{ empty: boolean }>(EMPTY);
  return row?.empty === true;
}

export async function transferState(sql: Sql): Promise<TransferState> {
  const [row] = await sql.query<CopyRow>(`SELECT ${COLUMNS} FROM reprise.copies`);
  const empty = await isEmpty(sql);
  if (row === undefined) return { empty };
  const { run, cursor, finished } = row;
  return { empty, run: { run, cursor, finished } };
}

/**
 * Locks the state of the copy until the transaction ends, so that concurrent copies run one after the other. The lock
 * also excludes readers: every writer reads this table when it begins (`transaction`) and keeps that lock until it
 * ends. So this call waits for all writers that found no copy and sees what they wrote, and every later writer sees
 * this copy (I-72).
 */
export async function lockCopy(tx: Tx): Promise<CopyState | undefined> {
  // The row may not exist yet, so only the table can be locked.
  tx.run('LOCK TABLE reprise.copies IN ACCESS EXCLUSIVE MODE');
  const [row] = await tx.query<CopyRow>(`SELECT ${COLUMNS} FROM reprise.copies`);
  if (row === undefined) return undefined;
  const { session, ...rest } = row;
  return { ...rest, ...(session !== null && { session: JSON.parse(session) as SessionCopy }) };
}

export function saveCopy(tx: Tx, { run, cursor, finished, epoch, session }: CopyState): void {
  tx.run(
    `INSERT INTO reprise.copies (run, cursor, finished, epoch, session) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (one) DO UPDATE SET run = excluded.run, cursor = excluded.cursor, finished = excluded.finished,
       epoch = excluded.epoch, session = excluded.session`,
    [run, cursor, finished, epoch, session === undefined ? null : JSON.stringify(session)],
  );
}

/** The highest epoch that this database knows. */
export async function highestEpoch(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ epoch: number }>(
    `SELECT greatest((SELECT max(epoch) FROM reprise.sessions), (SELECT max(epoch_floor) FROM reprise.copies), 0)::bigint
     AS epoch`,
  );
  return row?.epoch ?? 0;
}

/**
 * The epoch for a copy of this database: higher than all known epochs and those a previous timeline may have granted.
 */
export async function toldEpoch(sql: Sql): Promise<number> {
  const [row] = await sql.query<{ floor: number; timeline: string | null }>(
    `SELECT coalesce((SELECT max(epoch_floor) FROM reprise.copies), 0)::bigint AS floor, ${TIMELINE} AS timeline`,
  );
  const { floor = 0, timeline = null } = row ?? {};
  return Math.max(await highestEpoch(sql), floor + (timeline === null ? 0 : skippedEpochs(timeline)));
}
