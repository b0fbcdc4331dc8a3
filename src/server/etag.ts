import type { Context } from 'hono';
import { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import type { SessionView } from '../protocol/sessions.ts';
import type { ServerEnv } from './context.ts';

/**
 * The lines determine everything in a record except two flags: whether its key points to it, and whether it is in the
 * trash.
 */
export function etagOf({ lastSeq, active, status }: SessionView): string {
  return `"${lastSeq}${active ? '-a' : ''}${status === 'deleted' ? '-d' : ''}"`;
}

/** Whether `If-Match` contains this tag or `*`. `W/` is ignored, because tags stand for states, not for bytes. */
export function matches(header: string, etag: string): boolean {
  if (header.trim() === '*') return true;
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/** The state a change requires; without `ifSeen` the change applies to any state. */
export type Condition<R> = { readonly ifSeen?: R };

/**
 * Applies a change to the record state that the caller has read, or throws. The store checks the state in its own
 * transaction, so this is exact for any number of servers on one store. If another writer was faster, it reads the
 * record again.
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
