import type { Context } from 'hono';
import { RepriseError } from '../errors.ts';
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

/** Throws unless the record is still the one the caller has seen. */
export function checkIfMatch(c: Context<ServerEnv>, record: SessionView): void {
  const header = c.req.header('if-match');
  if (header === undefined || matches(header, etagOf(record))) return;
  throw new RepriseError('PRECONDITION_FAILED', 'the session has changed since', {
    details: { etag: etagOf(record), next: 'Read it again, then decide again.' },
  });
}

/**
 * One at a time for each session, so that of two requests with the same If-Match one fails. Other processes on the same
 * home are not held up: a change of theirs between the look and the write goes unseen, and nothing is lost by it.
 */
export class Turnstile {
  readonly #last: Map<string, Promise<unknown>> = new Map();

  async run<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(id) ?? Promise.resolve();
    const mine = before.then(work, work);
    const settled = mine.catch(() => undefined); // told to its own caller
    this.#last.set(id, settled);
    try {
      return await mine;
    } finally {
      if (this.#last.get(id) === settled) this.#last.delete(id);
    }
  }
}
