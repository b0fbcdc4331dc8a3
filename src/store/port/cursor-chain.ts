import { failure } from '../../messages/failure.ts';

/**
 * Tracks the cursors of one walk through a paged list. Without it, a server that repeats a cursor would keep the
 * client paging forever.
 */
export class CursorChain {
  readonly #seen: Set<string> = new Set();

  /** @returns the cursor of the next page, or null after the last one. */
  next(cursor: string | null | undefined): string | null {
    if (cursor === undefined || (cursor !== null && this.#seen.has(cursor)))
      throw failure('CONNECT_FAILED', 'list.endless', {
        cursor: cursor === undefined ? 'missing' : 'repeated',
      });
    if (cursor !== null) this.#seen.add(cursor);
    return cursor;
  }
}
