import { RepriseError } from '../../errors.ts';
import type { Holder } from '../shared/holder.ts';
import type { SessionState } from './session-state.ts';

/* What every store says no to, in the same words and with the same details: callers act on them (P2). */

export function assertOpen({ id, status }: Pick<SessionState, 'id' | 'status'>): void {
  if (status === 'deleted')
    throw new RepriseError('SESSION_DELETED', `session ${id} is in the trash`, { details: { id } });
}

export function assertHasKey({ id, key }: Pick<SessionState, 'id' | 'key'>, asked: string): void {
  if (key !== asked)
    throw new RepriseError('INVALID_INPUT', `session ${id} belongs to ${key}`, { details: { key } });
}

/** What was destroyed is never mistaken for what never was (P3). */
export function unknownSession(id: string, isPurged: boolean): RepriseError {
  return isPurged
    ? new RepriseError('GONE', `session ${id} was purged`, { details: { id } })
    : new RepriseError('SESSION_NOT_FOUND', `no session ${id}`, { details: { id } });
}

export function idStaysTaken(id: string): RepriseError {
  return new RepriseError('GONE', `session ${id} was purged; its id stays taken`, { details: { id } });
}

export function existsUnderOtherKey(
  id: string,
  { id: existing, key }: Pick<SessionState, 'id' | 'key'>,
): RepriseError {
  return new RepriseError('SESSION_EXISTS', `session ${id} exists under another key`, {
    details: { id: existing, key },
  });
}

/** An empty session in its place would hide the damaged one. */
export function damagedHeader(id: string): RepriseError {
  return new RepriseError(
    'STORE_CORRUPT',
    `session ${id} exists, but the header of its transcript is damaged`,
    {
      details: {
        id,
        offset: 0,
        next: `Run: reprise repair ${id}. It continues with what can be read, in a new session.`,
      },
    },
  );
}

export function nameTaken(id: string, agentId: string): RepriseError {
  const file = `agents/${agentId}/sessions/${id}.jsonl`;
  return new RepriseError('SESSION_EXISTS', `${file} in the home is not the transcript of session ${id}`, {
    details: {
      id,
      file,
      next: 'Run: reprise verify. It names what the file is. Import it or move it away, or choose another id.',
    },
  });
}

export function resetFindsSession(id: string): RepriseError {
  return new RepriseError('SESSION_EXISTS', `a reset makes a session, and ${id} exists`, {
    details: { id },
  });
}

export function epochOver({ id, epoch }: Pick<SessionState, 'id' | 'epoch'>, asked: number): RepriseError {
  return new RepriseError('FENCED', `epoch ${asked} of session ${id} is over`, { details: { epoch } });
}

export interface LiveLease {
  readonly epoch: number;
  readonly holder: Holder;
}

export function leaseHeld(id: string, { holder, epoch }: LiveLease): RepriseError {
  return new RepriseError('LEASE_HELD', `session ${id} is held by process ${holder.pid}`, {
    details: { holder, epoch },
  });
}

/** For whoever appends without a lease while somebody runs a turn. */
export function runnerHolds(id: string, { holder }: LiveLease): RepriseError {
  return new RepriseError('LEASE_HELD', `another runner holds session ${id}`, { details: { holder } });
}

export function unknownItem(inboxId: string): RepriseError {
  return new RepriseError('NOT_FOUND', `no inbox item ${inboxId}`, { details: { inboxId } });
}

/** Of a copy: its bytes are believed only where they are what was sealed. */
export function brokenSeal(id: string, seq: number): RepriseError {
  return new RepriseError('STORE_CORRUPT', `line ${seq} of session ${id} is not what was sealed`, {
    details: { id, seq },
  });
}

/** What every write is answered with in a store that was opened so. */
export function onlyRead(): RepriseError {
  return new RepriseError('STORE_READ_ONLY', 'the store was opened only to be read', {
    details: { next: 'Open it without "readOnly" to write to it.' },
  });
}

/** Whoever asks a store that was closed. */
export function storeClosed(): RepriseError {
  return new RepriseError('STORE_FAILED', 'the store is closed', { outcome: 'none' });
}
