import { RepriseError } from '../../errors.ts';
import type { SessionCopy } from '../port/transfer.ts';

/** What a copy into this store has to remember, in the transaction of the records it came with. */
export interface CopyState {
  readonly run: string;
  readonly cursor: string | null;
  readonly finished: boolean;
  /** The highest epoch that was told of. */
  readonly epoch: number;
  /** The session whose blobs and lines are coming. */
  readonly session?: SessionCopy;
}

export function notFinished(run: string): RepriseError {
  return new RepriseError('STORE_READ_ONLY', `a copy into this store is not finished: ${run}`, {
    details: { run, next: 'Run the same command again: it goes on where it stopped.' },
  });
}

/** Whether this run may go on here, or begin; throws where another one has, or where there is something already. */
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

/** Their order is fixed, so the session that is spoken of was the last to be named. */
export function sessionOf({ session }: CopyState, id: string): SessionCopy {
  if (session?.id === id) return session;
  throw malformed(`bytes of session ${id} come without its record`);
}

export function malformed(message: string): RepriseError {
  return new RepriseError('INVALID_INPUT', message);
}
