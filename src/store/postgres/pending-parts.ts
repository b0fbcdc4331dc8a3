import type { Convlog } from '../convlog.ts';
import type { Inbox, SearchResult } from '../store.ts';

const no = (): never => {
  throw new Error('not yet');
};
export const INBOX: Inbox = {
  receive: no,
  take: no,
  settle: no,
  get: no,
  pending: async () => [],
  known: no,
  watch: no,
};
export const CONVLOG: Convlog = { append: no, list: no, read: no };
export const SEARCH = (..._: unknown[]): SearchResult => no();
