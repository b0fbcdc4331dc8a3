import { failure } from '../../messages/failure.ts';
import type { ChangeOptions, SeenSession } from '../port/store.ts';

/** For the transaction that is about to change a session: throws unless it is as its caller has seen it (I-59). */
export function assertSeen(now: SeenSession, { ifSeen }: ChangeOptions): void {
  if (ifSeen === undefined) return;
  const { lastSeq, active, status } = now;
  if (lastSeq === ifSeen.lastSeq && active === ifSeen.active && status === ifSeen.status) return;
  throw failure('PRECONDITION_FAILED', 'session.changed', {}, { details: { lastSeq, active, status } });
}
