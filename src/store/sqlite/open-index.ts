import { join } from 'node:path';
import type { SessionIndex } from '../port/session-index.ts';
import { openSessionIndex } from './session-index.ts';

export function openSqliteIndex(home: string): SessionIndex | undefined {
  return openSessionIndex({ path: join(home, 'store.db') });
}
