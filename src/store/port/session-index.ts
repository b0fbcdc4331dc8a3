import type { ListQuery, SessionPage } from './store.ts';

/** For programs that list sessions and end: an answer without the threads of a store. */
export interface SessionIndex extends Disposable {
  /** As `Store.list` would answer; undefined where only a store can say. */
  list(query: ListQuery): SessionPage | undefined;
}
