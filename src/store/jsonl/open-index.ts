import { join } from 'node:path';
import { openSessionIndex } from '../control/session-index.ts';
import type { SessionIndex } from '../session-index.ts';

export function openJsonlIndex(home: string): SessionIndex | undefined {
  return openSessionIndex({ path: join(home, 'control.db'), home });
}
