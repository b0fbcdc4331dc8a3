import { createHash } from 'node:crypto';

/** A name for the session that a request makes, from the request's own key: a retry finds it, also after a restart. */
export function keyedId(kind: 'fork' | 'chat' | 'repair', ...parts: readonly string[]): string {
  return `${kind}-${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)}`;
}
