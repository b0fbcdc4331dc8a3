import { RepriseError } from '../../errors.ts';
import type { ListQuery, SessionStatus } from '../store.ts';
import type { SessionState } from './session-state.ts';

/* What lists of sessions have in common, whatever database they are read from. */

const MAX_PAGE = 1000;

export function pageSize(limit = 50): number {
  return Math.min(Math.max(1, Math.trunc(limit)), MAX_PAGE);
}

export function statusesOf({ status = 'open' }: ListQuery): readonly SessionStatus[] {
  return status === 'any' ? ['open', 'deleted'] : [status];
}

export function formatCursor({ last_at, id }: Pick<SessionState, 'last_at' | 'id'>): string {
  return Buffer.from(JSON.stringify([last_at, id])).toString('base64url');
}

export function parseCursor(cursor: string): { lastAt: string; id: string } {
  try {
    const [lastAt, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (typeof lastAt === 'string' && typeof id === 'string') return { lastAt, id };
  } catch {
    // Not one of ours; said below.
  }
  throw new RepriseError('INVALID_INPUT', 'not a cursor of this list', { details: { cursor } });
}
