import type { ListQuery, SessionPage } from './store.ts';

/** Lists sessions for short-lived programs without starting the threads of a store. */
export interface SessionIndex extends Disposable {
  /** Gives the same page as `Store.list`. @returns `undefined` if only an opened store can answer the query. */
  list(query: ListQuery): SessionPage | undefined;
}
