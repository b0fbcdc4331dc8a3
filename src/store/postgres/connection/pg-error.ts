import { type Outcome, RepriseError } from '../../../errors.ts';
import { failure } from '../../../messages/failure.ts';
import { isLostSocket, isLostState, meaningOf, type PgFailure } from './pg-meaning.ts';

/** The connection is gone, as far as we can tell. A mistake of our own is none: trying again would repeat it. */
export function isLost(error: unknown): boolean {
  if (isAnswer(error)) return isLostState((error as PgFailure).code ?? '');
  if (error instanceof RepriseError) return false;
  const { code, message } = (error ?? {}) as PgFailure;
  return isLostSocket(code, message);
}

/** The server itself has said it: of everything else nobody knows how far it came. */
export function isAnswer(error: unknown): boolean {
  return ((error ?? {}) as PgFailure).severity !== undefined;
}

/**
 * The connection must not be used again: it is gone, or leads to a server that takes no writes. After a failover the same
 * address leads to one that does, and only a new connection finds it.
 */
export function isUseless(error: unknown): boolean {
  if (error instanceof RepriseError) return false;
  return isLost(error) || meaningOf(error as PgFailure).code === 'STORE_READ_ONLY';
}

/** The server itself has refused a statement, and goes on: nobody else's failure and no last word. */
export function isRefusal(error: unknown): boolean {
  const state = sqlState(error);
  return state !== '' && !isLostState(state);
}

/** Of the answer to a commit: a rule was broken, the state was wrong, or others were faster. */
const REFUSED_COMMITS = /^(?:23|25|40)/;

/**
 * Whether this answer to a commit means that nothing has happened. Others may be the last words of a server that panics
 * after it wrote the commit: a full disk, a failed fsync. Their severity would tell, but in the language of the server.
 */
export function isRefusedCommit(error: unknown): boolean {
  return REFUSED_COMMITS.test(sqlState(error));
}

/** Nothing has happened, and the same once more may succeed: two transactions got into each other's way. */
export function isCollision(error: unknown): boolean {
  return ['40001', '40P01'].includes(sqlState(error));
}

export function sqlState(error: unknown): string {
  const { code = '' } = (error ?? {}) as PgFailure;
  return isAnswer(error) ? code : '';
}

/** Failures of the server and of the way to it by our codes, with what to do where that is known. */
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
