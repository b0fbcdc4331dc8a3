import { join } from 'node:path';
import type { SessionIndex } from '../port/session-index.ts';
import { openSessionIndex } from '../sqlite/session-index.ts';

export function openJsonlIndex(home: string): SessionIndex | undefined {
  return openSessionIndex({ path: join(home, 'control.db'), home });
}
