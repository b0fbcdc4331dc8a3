import type { Context } from 'hono';
import { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import type { SessionView } from '../protocol/sessions.ts';
import type { ServerEnv } from './context.ts';

/** Everything a record tells comes from its lines, but whether it is the one of its key, or in the trash. */
export function etagOf({ lastSeq, active, status }: SessionView): string {
  return `"${lastSeq}${active ? '-a' : ''}${status === 'deleted' ? '-d' : ''}"`;
}

/** Whether a list of tags, or `*`, names this one. `W/` makes no difference here: bytes are not compared. */
export function matches(header: string, etag: string): boolean {
  if (header.trim() === '*') return true;
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/** What a change is to be done to; unset `ifSeen`: whatever it is by then. */
export type Condition<R> = { readonly ifSeen?: R };

/**
 * Does a change to the record the caller has seen, or throws. The store decides in its own transaction, so it is exact
 * for any number of servers on one store. Where somebody came between the look and the change, it is looked again.
 */
export async function ifMatching<R extends SessionView, T>(
  c: Context<ServerEnv>,
  look: () => Promise<R>,
  change: (condition: Condition<R>) => Promise<T>,
): Promise<T> {
  const header = c.req.header('if-match');
  for (;;) {
    const record = await look();
    if (header === undefined || header.trim() === '*') return change({});
    assertMatches(header, record);
    try {
      return await change({ ifSeen: record });
    } catch (error) {
      if (!(error instanceof RepriseError) || error.code !== 'PRECONDITION_FAILED') throw error;
    }
  }
}

function assertMatches(header: string, record: SessionView): void {
  if (matches(header, etagOf(record))) return;
  const details = { etag: etagOf(record) };
  throw failure('PRECONDITION_FAILED', 'session.changed', {}, { details });
}
