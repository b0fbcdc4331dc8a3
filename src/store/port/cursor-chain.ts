import { RepriseError } from '../../errors.ts';

/**
 * Tracks the cursors of one walk through a paged list. Without it, a server that repeats a cursor would keep the
 * client paging forever.
 */
export class CursorChain {
  readonly #seen: Set<string> = new Set();

  /** @returns the cursor of the next page, or null after the last one. */
  next(cursor: string | null | undefined): string | null {
    if (cursor === undefined || (cursor !== null && this.#seen.has(cursor)))
      throw new RepriseError(
        'CONNECT_FAILED',
        `a page of the list has ${cursor === undefined ? 'no cursor' : 'the cursor of an earlier page'}, so it has no end`,
        { details: { next: 'Check that the address is that of a Reprise server, of the same version.' } },
      );
    if (cursor !== null) this.#seen.add(cursor);
    return cursor;
  }
}
