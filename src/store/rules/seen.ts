import { failure } from '../../messages/failure.ts';
import type { ChangeOptions, SeenSession } from '../port/store.ts';

/**
 * Called in the transaction that changes a session: throws unless the session still matches what the caller read
 * (I-59).
 */
export function assertSeen(now: SeenSession, { ifSeen }: ChangeOptions): void {
  if (ifSeen === undefined) return;
  const { lastSeq, active, status } = now;
  if (lastSeq === ifSeen.lastSeq && active === ifSeen.active && status === ifSeen.status) return;
  throw failure('PRECONDITION_FAILED', 'session.changed', {}, { details: { lastSeq, active, status } });
}
