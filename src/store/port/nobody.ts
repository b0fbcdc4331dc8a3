import { type ErrorCode, RepriseError } from '../../errors.ts';

const ABSENT: ReadonlySet<ErrorCode> = new Set(['SESSION_NOT_FOUND', 'GONE']);

/** There is no such session: there never was one, or it was purged. */
export function isGone(error: unknown): boolean {
  return error instanceof RepriseError && ABSENT.has(error.code);
}

/** For `catch`: a session that is not there is none, and every other failure stays one. */
export function noneIfGone(error: unknown): undefined {
  if (!isGone(error)) throw error;
}

/** Nobody is there to take what is delivered with an append: it is passed over, and what its sender has to store counts. */
export function isForNobody(error: unknown): boolean {
  return isGone(error) || (error instanceof RepriseError && error.code === 'SESSION_DELETED');
}
