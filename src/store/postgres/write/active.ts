import { formatSessionKey, parseSessionKey } from '../../../keys/session-key.ts';
import type { Sql } from '../connection/connections.ts';
import type { Tx } from '../connection/tx.ts';
import { lockIfThere, type SessionRow } from '../rows.ts';
import { shortName } from '../short-name.ts';

/** Which session a key stands for; empty: none now, though it had one. */
export interface ActiveRow {
  readonly session_id: string;
  readonly counter: number;
}

/**
 * Locks a key, whether it ever stood for a session or not: two who ask at once for the session of a key come one after
 * the other. Keys are locked before sessions, always, so that nobody waits in a circle.
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
  /** The session it stands for, locked behind it. */
  readonly current: SessionRow | undefined;
}

/** A key and the session it stands for, in one round trip: the second statement sees what the first has waited for. */
export async function lockActive(tx: Tx, canonicalKey: string): Promise<LockedKey> {
  const [active, current] = await Promise.all([
    lockKey(tx, canonicalKey),
    lockIfThere(tx, { key: canonicalKey }),
  ]);
  return { active, current };
}

/** Only under the lock of the key. */
export function setActive(tx: Tx, canonicalKey: string, { session_id, counter }: ActiveRow): void {
  tx.run('UPDATE reprise.active SET session_id = $2, counter = $3 WHERE key = $1', [
    shortName(canonicalKey),
    session_id,
    counter,
  ]);
}

/** Of a copy: of all that say it the highest counter of a key wins, of equals what was told last if it is the key itself. */
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

/** By its canonical key; undefined where it stands for nobody. */
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
