import { createHash } from 'node:crypto';

/** The id of a session that a request makes, by the request's own key: a retry finds it, also after a restart. */
export function keyedId(kind: 'fork' | 'chat' | 'repair', ...parts: readonly string[]): string {
  return `${kind}-${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)}`;
}
