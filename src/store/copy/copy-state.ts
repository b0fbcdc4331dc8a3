import { RepriseError } from '../../errors.ts';
import type { SessionCopy } from '../port/transfer.ts';

/** Progress of a copy into this store, stored in the transaction of the records it came with. */
export interface CopyState {
  readonly run: string;
  readonly cursor: string | null;
  readonly finished: boolean;
  /** The highest epoch in the copied records. */
  readonly epoch: number;
  /** The session whose blobs and lines come next. */
  readonly session?: SessionCopy;
}

export function notFinished(run: string): RepriseError {
  return new RepriseError('STORE_READ_ONLY', `a copy into this store is not finished: ${run}`, {
    details: { run, next: 'Run the same command again: it goes on where it stopped.' },
  });
}

/**
 * Returns the state of the run if it may start or continue here. Throws if the store belongs to another run or is not
 * empty.
 */
export function assertRun(known: CopyState | undefined, run: string, isEmpty: () => boolean): CopyState {
  if (known !== undefined) {
    if (known.run === run && !known.finished) return known;
    throw otherRun(known);
  }
  if (isEmpty()) return { run, cursor: null, finished: false, epoch: 0 };
  throw new RepriseError('INVALID_INPUT', 'a copy begins in an empty store, and this one has sessions', {
    details: { next: 'Choose another home or database for it.' },
  });
}

export function otherRun(known: CopyState | undefined): RepriseError {
  const what = known === undefined ? 'no copy was begun here' : `this store holds another copy: ${known.run}`;
  return new RepriseError('INVALID_INPUT', what, { details: { next: 'Choose an empty home or database.' } });
}

/** The session of a record. Records have a fixed order, so it must be the last session that was announced. */
export function sessionOf({ session }: CopyState, id: string): SessionCopy {
  if (session?.id === id) return session;
  throw malformed(`bytes of session ${id} come without its record`);
}

export function malformed(message: string): RepriseError {
  return new RepriseError('INVALID_INPUT', message);
}
