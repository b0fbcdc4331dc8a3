import type { RepriseError } from '../../errors.ts';
import { failure } from '../../messages/failure.ts';
import type { CopyMessages } from '../../messages/params/params-stores.ts';
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
  return failure('STORE_READ_ONLY', 'store.copyUnfinished', { run }, { details: { run } });
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
  throw failure('INVALID_INPUT', 'copy.notEmpty');
}

export function otherRun(known: CopyState | undefined): RepriseError {
  return failure('INVALID_INPUT', 'copy.otherRun', { run: known?.run ?? null });
}

/** The session of a record. Records have a fixed order, so it must be the last session that was announced. */
export function sessionOf({ session }: CopyState, id: string): SessionCopy {
  if (session?.id === id) return session;
  throw malformed({ problem: 'noRecord', id });
}

export function malformed(record: CopyMessages['copy.badRecord']): RepriseError {
  return failure('INVALID_INPUT', 'copy.badRecord', record);
}
