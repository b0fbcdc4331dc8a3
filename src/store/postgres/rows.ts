import { unknownSession } from '../rules/refusals.ts';
import { recentOf, type SessionState } from '../rules/session-state.ts';
import type { Sql } from './connection/connections.ts';
import type { Tx } from './connection/tx.ts';
import { type SessionRef, sessionRef } from './session-ref.ts';
import { plainText } from './text.ts';

/** A row of `sessions`. */
export interface SessionRow extends SessionState {
  /** Epoch of its lease, which may have expired; 0 without a lease. */
  lease_epoch: number;
  /** Total size of its lines, including LFs. */
  bytes: number;
}

export interface LineRow {
  readonly session_id: string;
  readonly seq: number;
  readonly entry_id: string | null;
  /** Without the LF. */
  readonly line: string;
}

/** SQL types of the columns, also used to cast arrays of them. */
const TYPES = {
  id: 'text',
  agent_id: 'text',
  key: 'text',
  kind: 'text',
  channel: 'text',
  parent_id: 'text',
  owner: 'text',
  title: 'text',
  label: 'text',
  status: 'text',
  created_at: 'text',
  last_at: 'text',
  recent: 'text',
  message_count: 'bigint',
  turn_count: 'bigint',
  token_estimate: 'bigint',
  settings: 'text',
  seq: 'bigint',
  q: 'bigint',
  leaf: 'text',
  epoch: 'bigint',
  lease_epoch: 'bigint',
  context_seq: 'bigint',
  context_compaction: 'bigint',
  bytes: 'bigint',
  corrupt_at: 'bigint',
} as const satisfies Record<keyof SessionRow, string>;

/** Columns that a transaction may change; the others are set once. */
const CHANGEABLE = [
  'title',
  'label',
  'status',
  'last_at',
  'recent',
  'message_count',
  'turn_count',
  'token_estimate',
  'settings',
  'seq',
  'q',
  'leaf',
  'epoch',
  'lease_epoch',
  'context_seq',
  'context_compaction',
  'bytes',
  'corrupt_at',
] as const satisfies readonly (keyof SessionRow)[];

const ALL = Object.keys(TYPES) as (keyof SessionRow)[];

/** Columns are named one by one: a column added by a newer node would change the result of a prepared statement. */
export const SESSION_COLUMNS: string = ALL.join(', ');

const LOCK = `SELECT ${SESSION_COLUMNS} FROM reprise.sessions WHERE id = ANY($1) ORDER BY id FOR UPDATE`;
const LOCK_ONE = `SELECT ${SESSION_COLUMNS} FROM reprise.sessions WHERE id = $1 FOR UPDATE`;

const INSERT = `INSERT INTO reprise.sessions (${SESSION_COLUMNS})
  VALUES (${ALL.map((_, i) => `$${i + 1}`).join(', ')}) ON CONFLICT DO NOTHING RETURNING id`;

const SAVED = ['id', ...CHANGEABLE] as const;
const SAVE = `UPDATE reprise.sessions AS s SET ${CHANGEABLE.map((name) => `${name} = u.${name}`).join(', ')}
  FROM unnest(${SAVED.map((name, i) => `$${i + 1}::${TYPES[name]}[]`).join(', ')}) AS u (${SAVED.join(', ')})
  WHERE s.id = u.id`;
const SAVE_ONE = `UPDATE reprise.sessions SET ${CHANGEABLE.map((name, i) => `${name} = $${i + 2}`).join(', ')}
  WHERE id = $1`;

const FEW_LINES = 8;
const INSERT_LINES = `INSERT INTO reprise.lines (session_id, seq, entry_id, line)
  SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[])`;

/** Locks a session's row until the transaction ends. All code in the transaction shares the returned object. */
export async function lockSession(tx: Tx, id: string): Promise<SessionRow> {
  const known = tx.sessions.get(id);
  if (known !== undefined) return known;
  const [row] = await tx.query<SessionRow>(LOCK_ONE, [id]);
  if (row === undefined) return refuseUnknown(tx, id);
  tx.sessions.set(id, row);
  return row;
}

/** Like `lockSession`, but returns `undefined` if the session does not exist. For several statements sent at once. */
export async function lockIfThere(tx: Tx, session: SessionRef): Promise<SessionRow | undefined> {
  const { is, value } = sessionRef(session, '$1');
  const [row] = await tx.query<SessionRow>(
    `SELECT ${SESSION_COLUMNS} FROM reprise.sessions WHERE id = ${is} FOR UPDATE`,
    [value],
  );
  if (row === undefined) return undefined;
  // Changes that this transaction has not written yet are in its own copy.
  const known = tx.sessions.get(row.id) ?? row;
  tx.sessions.set(row.id, known);
  return known;
}

/**
 * Locks the existing rows in the order of their ids; with `skipLocked`, skips rows that another transaction has
 * locked.
 */
export async function lockAll(
  tx: Tx,
  ids: readonly string[],
  { skipLocked = false }: { readonly skipLocked?: boolean } = {},
): Promise<SessionRow[]> {
  const rows = await tx.query<SessionRow>(skipLocked ? `${LOCK} SKIP LOCKED` : LOCK, [ids]);
  for (const row of rows) tx.sessions.set(row.id, row);
  return rows;
}

/** The committed row, without a lock. */
export async function findSession(sql: Sql, id: string): Promise<SessionRow | undefined> {
  const [row] = await sql.query<SessionRow>(`SELECT ${SESSION_COLUMNS} FROM reprise.sessions WHERE id = $1`, [
    id,
  ]);
  return row;
}

export async function getSession(sql: Sql, id: string): Promise<SessionRow> {
  return (await findSession(sql, id)) ?? refuseUnknown(sql, id);
}

export async function isPurged(sql: Sql, id: string): Promise<boolean> {
  const rows = await sql.query('SELECT 1 AS one FROM reprise.purged WHERE id = $1', [id.toLowerCase()]);
  return rows.length > 0;
}

export async function refuseUnknown(sql: Sql, id: string): Promise<never> {
  throw unknownSession(id, await isPurged(sql, id));
}

/**
 * Inserts a session. Waits for a transaction that inserts the same id. @returns false if the id is taken, in any
 * case.
 */
export async function insertSession(tx: Tx, row: SessionRow): Promise<boolean> {
  const made = await tx.query(
    INSERT,
    ALL.map((name) => stored(row, name)),
  );
  if (made.length === 0) return false;
  tx.sessions.set(row.id, row);
  return true;
}

export function saveSessions(tx: Tx, rows: readonly SessionRow[]): void {
  for (const row of rows) row.recent = recentOf(row.last_at);
  const [only] = rows;
  if (only !== undefined && rows.length === 1)
    tx.run(
      SAVE_ONE,
      SAVED.map((name) => stored(only, name)),
    );
  else
    tx.run(
      SAVE,
      SAVED.map((name) => rows.map((row) => stored(row, name))),
    );
}

export function insertLines(tx: Tx, lines: readonly LineRow[]): void {
  // Array parameters need escaping, which only pays off for many lines.
  if (lines.length <= FEW_LINES) {
    const places = lines.map((_, i) => `($${4 * i + 1}, $${4 * i + 2}, $${4 * i + 3}, $${4 * i + 4})`);
    tx.run(
      `INSERT INTO reprise.lines (session_id, seq, entry_id, line) VALUES ${places.join(', ')}`,
      lines.flatMap(({ session_id, seq, entry_id, line }) => [session_id, seq, entry_id, line]),
    );
    return;
  }
  tx.run(INSERT_LINES, [
    lines.map(({ session_id }) => session_id),
    lines.map(({ seq }) => seq),
    lines.map(({ entry_id }) => entry_id),
    lines.map(({ line }) => line),
  ]);
}

/** Titles and labels may contain characters that PostgreSQL refuses. */
function stored(row: SessionRow, name: keyof SessionRow): string | number | null {
  const value = row[name];
  return typeof value === 'string' && (name === 'title' || name === 'label') ? plainText(value) : value;
}
