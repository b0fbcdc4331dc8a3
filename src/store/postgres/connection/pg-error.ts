import { type Outcome, RepriseError } from '../../../errors.ts';
import { failure } from '../../../messages/failure.ts';
import { isLostSocket, isLostState, meaningOf, type PgFailure } from './pg-meaning.ts';

/**
 * Whether the connection is lost, as far as we can see. Our own mistakes do not count, because a retry would repeat
 * them.
 */
export function isLost(error: unknown): boolean {
  if (isAnswer(error)) return isLostState((error as PgFailure).code ?? '');
  if (error instanceof RepriseError) return false;
  const { code, message } = (error ?? {}) as PgFailure;
  return isLostSocket(code, message);
}

/** Whether the server sent this error. After any other error it is unknown how far the statement came. */
export function isAnswer(error: unknown): boolean {
  return ((error ?? {}) as PgFailure).severity !== undefined;
}

/**
 * Whether the connection must not be reused: it is lost, or leads to a server that accepts no writes. After a
 * failover the same address leads to a writable server, but only for a new connection.
 */
export function isUseless(error: unknown): boolean {
  if (error instanceof RepriseError) return false;
  return isLost(error) || meaningOf(error as PgFailure).code === 'STORE_READ_ONLY';
}

/** Whether the server refused a statement and keeps running: a clear answer about this statement only. */
export function isRefusal(error: unknown): boolean {
  const state = sqlState(error);
  return state !== '' && !isLostState(state);
}

/** SQLSTATE classes of refused commits: a broken constraint, a wrong transaction state, or a conflict. */
const REFUSED_COMMITS = /^(?:23|25|40)/;

/**
 * Whether this answer to a commit means that nothing was committed. Other errors may be the last message of a server
 * that fails after writing the commit (full disk, failed fsync). Their severity would show that, but it is in the
 * server's language.
 */
export function isRefusedCommit(error: unknown): boolean {
  return REFUSED_COMMITS.test(sqlState(error));
}

/** Whether two transactions conflicted: nothing was committed, and a retry may succeed. */
export function isCollision(error: unknown): boolean {
  return ['40001', '40P01'].includes(sqlState(error));
}

export function sqlState(error: unknown): string {
  const { code = '' } = (error ?? {}) as PgFailure;
  return isAnswer(error) ? code : '';
}

/** Translates errors of the server and of the connection into our codes, with a next step where one is known. */
export function pgError(error: unknown, outcome: Outcome = 'none'): RepriseError {
  if (error instanceof RepriseError) return error;
  const { code: reason = '', message = String(error) } = (error ?? {}) as PgFailure;
  const { code, problem } = meaningOf((error ?? {}) as PgFailure);
  return failure(
    code,
    'postgres.failed',
    { problem, message },
    { cause: error, outcome, details: reason === '' ? {} : { reason } },
  );
}
