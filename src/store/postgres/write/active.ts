import { formatSessionKey, parseSessionKey } from '../../../keys/session-key.ts';
import type { Sql } from '../connection/connections.ts';
import type { Tx } from '../connection/tx.ts';
import { lockIfThere, type SessionRow } from '../rows.ts';
import { shortName, shortNameOf } from '../short-name.ts';

/** The session that a key points to; an empty id means that it points to none now. */
export interface ActiveRow {
  readonly session_id: string;
  readonly counter: number;
}

/**
 * Locks a key, whether or not it ever had a session, so that concurrent calls for the session of a key run one after
 * the other. Keys are always locked before sessions, which prevents deadlocks.
 */
export async function lockKey(tx: Tx, canonicalKey: string): Promise<ActiveRow> {
  tx.run('INSERT INTO reprise.active (key, whole_key) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    ...keyColumns(canonicalKey),
  ]);
  const [row] = await tx.query<ActiveRow>(
    'SELECT session_id, counter FROM reprise.active WHERE key = $1 FOR UPDATE',
    [shortName(canonicalKey)],
  );
  return row ?? { session_id: '', counter: 0 };
}

export interface LockedKey {
  readonly active: ActiveRow;
  /** The session that the key points to, locked after the key. */
  readonly current: SessionRow | undefined;
}

/** Locks a key and its session in one round trip: the second statement sees what the first one waited for. */
export async function lockActive(tx: Tx, canonicalKey: string): Promise<LockedKey> {
  const [active, current] = await Promise.all([
    lockKey(tx, canonicalKey),
    lockIfThere(tx, { key: canonicalKey }),
  ]);
  return { active, current };
}

/** Call it only while the key is locked. */
export function setActive(tx: Tx, canonicalKey: string, { session_id, counter }: ActiveRow): void {
  tx.run('UPDATE reprise.active SET session_id = $2, counter = $3 WHERE key = $1', [
    shortName(canonicalKey),
    session_id,
    counter,
  ]);
}

/**
 * Applies an activation of a copy: the highest counter of a key wins; for equal counters, the copied key itself wins
 * over lines.
 */
export function copyActive(
  tx: Tx,
  key: string,
  { session_id, counter, isLast }: ActiveRow & { readonly isLast: boolean },
): void {
  tx.run(
    `INSERT INTO reprise.active (key, whole_key, session_id, counter) VALUES ($1, $2, $3, $4)
     ON CONFLICT (key) DO UPDATE SET session_id = excluded.session_id, counter = excluded.counter
     WHERE excluded.counter ${isLast ? '>=' : '>'} active.counter`,
    [...keyColumns(key), session_id, counter],
  );
}

/** The active session of a canonical key, or `undefined`. */
export async function activeSession(sql: Sql, canonicalKey: string): Promise<string | undefined> {
  const [row] = await sql.query<ActiveRow>(
    "SELECT session_id, counter FROM reprise.active WHERE key = $1 AND session_id <> ''",
    [shortName(canonicalKey)],
  );
  return row?.session_id;
}

function keyColumns(key: string): [key: string, wholeKey: string | null] {
  const short = shortName(key);
  return [short, short === key ? null : key];
}

export function canonicalKey(key: string): string {
  return formatSessionKey(parseSessionKey(key));
}

/** Whether the key of this session leads to it. For several statements that are sent at once. */
export async function isActiveSession(tx: Tx, id: string): Promise<boolean> {
  const rows = await tx.query(
    `SELECT 1 AS one FROM reprise.sessions AS s
     JOIN reprise.active AS a ON a.key = ${shortNameOf('s.key')} AND a.session_id = s.id WHERE s.id = $1`,
    [id],
  );
  return rows.length > 0;
}
