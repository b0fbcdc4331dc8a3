import { type ErrorCode, RepriseError } from '../errors.ts';

const GONE: ReadonlySet<ErrorCode> = new Set(['SESSION_DELETED', 'SESSION_NOT_FOUND', 'GONE']);

/** Nobody is there to take what is delivered with an append: it is passed over, and what its sender has to store counts. */
export function isForNobody(error: unknown): boolean {
  return error instanceof RepriseError && GONE.has(error.code);
}
