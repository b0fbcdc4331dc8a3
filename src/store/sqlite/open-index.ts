import { join } from 'node:path';
import { openSessionIndex } from '../control/session-index.ts';
import type { SessionIndex } from '../session-index.ts';

export function openSqliteIndex(home: string): SessionIndex | undefined {
  return openSessionIndex({ path: join(home, 'store.db') });
}
