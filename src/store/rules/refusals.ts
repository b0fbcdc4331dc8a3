import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { Holder } from '../shared/holder.ts';
import type { SessionState } from './session-state.ts';

/* Refusals that all stores share, with the same messages and details, because callers act on them (P2). */

export function assertOpen({ id, status }: Pick<SessionState, 'id' | 'status'>): void {
  if (status === 'deleted') throw failure('SESSION_DELETED', 'session.trashed', { id }, { details: { id } });
}

export function assertHasKey({ id, key }: Pick<SessionState, 'id' | 'key'>, asked: string): void {
  if (key !== asked) throw failure('INVALID_INPUT', 'session.keyMismatch', { id, key }, { details: { key } });
}

/** A purged session is reported differently from one that never existed (P3). */
export function unknownSession(id: string, isPurged: boolean): RepriseError {
  return isPurged
    ? failure('GONE', 'session.purged', { id }, { details: { id } })
    : failure('SESSION_NOT_FOUND', 'session.unknown', { id }, { details: { id } });
}

export function idStaysTaken(id: string): RepriseError {
  return failure('GONE', 'session.idPurged', { id }, { details: { id } });
}

export function existsUnderOtherKey(
  id: string,
  { id: existing, key }: Pick<SessionState, 'id' | 'key'>,
): RepriseError {
  return failure('SESSION_EXISTS', 'session.keyTaken', { id, key }, { details: { id: existing, key } });
}

/** Refuse: an empty session in its place would hide the damaged one. */
export function damagedHeader(id: string): RepriseError {
  return failure('STORE_CORRUPT', 'session.damagedHeader', { id }, { details: { id, offset: 0 } });
}

export function nameTaken(id: string, agentId: string): RepriseError {
  const file = `agents/${agentId}/sessions/${id}.jsonl`;
  return failure('SESSION_EXISTS', 'session.fileTaken', { id, file }, { details: { id, file } });
}

export function resetFindsSession(id: string): RepriseError {
  return failure('SESSION_EXISTS', 'session.resetExists', { id }, { details: { id } });
}

export function epochOver({ id, epoch }: Pick<SessionState, 'id' | 'epoch'>, asked: number): RepriseError {
  return failure('FENCED', 'session.fenced', { id }, { details: { epoch, asked } });
}

export interface LiveLease {
  readonly epoch: number;
  readonly holder: Holder;
}

export function leaseHeld(id: string, { holder, epoch }: LiveLease): RepriseError {
  return failure('LEASE_HELD', 'session.leaseHeld', { id, pid: holder.pid }, { details: { holder, epoch } });
}

/** For an append without a lease while a runner holds the session. */
export function runnerHolds(id: string, { holder }: LiveLease): RepriseError {
  return failure('LEASE_HELD', 'session.runnerHolds', { id }, { details: { holder } });
}

export function unknownItem(inboxId: string): RepriseError {
  return failure('NOT_FOUND', 'inbox.missing', { inboxId }, { details: { inboxId } });
}

/** For a copied line whose bytes do not match its seal. */
export function brokenSeal(id: string, seq: number): RepriseError {
  return failure('STORE_CORRUPT', 'copy.lineChanged', { id, line: seq }, { details: { id, seq } });
}

/** The answer to every write in a store that was opened read-only. */
export function onlyRead(): RepriseError {
  return failure('STORE_READ_ONLY', 'store.onlyRead');
}

/** The answer to every call on a closed store. */
export function storeClosed(): RepriseError {
  return failure('STORE_FAILED', 'store.closed', {}, { outcome: 'none' });
}
