import { type ErrorCode, RepriseError } from '../../errors.ts';

const ABSENT: ReadonlySet<ErrorCode> = new Set(['SESSION_NOT_FOUND', 'GONE']);

/** Whether the error means that the session does not exist: it never did, or it was purged. */
export function isGone(error: unknown): boolean {
  return error instanceof RepriseError && ABSENT.has(error.code);
}

/** For `catch`: turns a missing session into `undefined` and rethrows every other error. */
export function noneIfGone(error: unknown): undefined {
  if (!isGone(error)) throw error;
}

/**
 * Whether the error means that a message delivered with an append has no receiver (missing, purged or deleted). The
 * store then skips the delivery and keeps the sender's append.
 */
export function isForNobody(error: unknown): boolean {
  return isGone(error) || (error instanceof RepriseError && error.code === 'SESSION_DELETED');
}
