import { shortName } from './short-name.ts';

/** A session by its id, or by a key whose row this transaction has locked. */
export type SessionRef = string | { readonly key: string };

/** The SQL expression for the session's id, and the value for its parameter. */
export function sessionRef(
  session: SessionRef,
  place: string,
): { readonly is: string; readonly value: string } {
  if (typeof session === 'string') return { is: place, value: session };
  const is = `(SELECT session_id FROM reprise.active WHERE key = ${place})`;
  return { is, value: shortName(session.key) };
}
