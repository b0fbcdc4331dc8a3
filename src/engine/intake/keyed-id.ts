import { createHash } from 'node:crypto';

/** An id for the session that a request creates, made from the request's key: a retry finds it, also after a restart. */
export function keyedId(kind: 'fork' | 'chat' | 'repair' | 'user', ...parts: readonly string[]): string {
  return `${kind}-${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)}`;
}
