import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import type { ListQuery, ListSort, SessionStatus } from '../port/store.ts';
import type { SessionState } from './session-state.ts';

/* Sorting and paging of session lists, shared by all databases. */

const MAX_PAGE = 1000;
/** Sort columns. Equal rows are sorted by their ids, ignoring case. */
const COLUMNS = { time: 'last_at', messages: 'message_count', tokens: 'token_estimate' } as const;

export type PlacedSession = Pick<SessionState, (typeof COLUMNS)[ListSort] | 'id'>;

export interface ListOrder {
  readonly sort: ListSort;
  readonly column: (typeof COLUMNS)[ListSort];
  readonly isAscending: boolean;
  /** The direction in SQL. */
  readonly direction: 'ASC' | 'DESC';
}

export function orderOf({ sort = 'time', order = 'desc' }: ListQuery): ListOrder {
  if (!Object.hasOwn(COLUMNS, sort))
    throw failure(
      'INVALID_INPUT',
      'list.badSort',
      { sort: quotedValue(sort), allowed: Object.keys(COLUMNS) },
      { details: { field: 'sort' } },
    );
  if (order !== 'asc' && order !== 'desc')
    throw failure(
      'INVALID_INPUT',
      'list.badOrder',
      { order: quotedValue(order) },
      { details: { field: 'order' } },
    );
  const isAscending = order === 'asc';
  return { sort, column: COLUMNS[sort], isAscending, direction: isAscending ? 'ASC' : 'DESC' };
}

/** Compares rows in the same way as the databases. */
export function compareIn({
  column,
  isAscending,
}: ListOrder): (a: PlacedSession, b: PlacedSession) => number {
  const compare = (a: PlacedSession, b: PlacedSession): number => {
    if (a[column] !== b[column]) return a[column] < b[column] ? -1 : 1;
    return a.id.toLowerCase() < b.id.toLowerCase() ? -1 : 1;
  };
  return isAscending ? compare : (a, b) => compare(b, a);
}

export function pageSize(limit = 50): number {
  return Math.min(Math.max(1, Math.trunc(limit)), MAX_PAGE);
}

export function statusesOf({ status = 'open' }: ListQuery): readonly SessionStatus[] {
  return status === 'any' ? ['open', 'deleted'] : [status];
}

/**
 * A position in the order, not an offset, so that pages stay correct while sessions appear and disappear. Valid only
 * for the same order.
 */
export function formatCursor(row: PlacedSession, { sort, column }: ListOrder): string {
  const place = sort === 'time' ? [row.last_at, row.id] : [row[column], row.id, sort];
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

export function parseCursor(
  cursor: string,
  { sort }: ListOrder,
): { readonly value: string | number; readonly id: string } {
  try {
    const [value, id, of = 'time'] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    const fits = sort === 'time' ? typeof value === 'string' : Number.isSafeInteger(value);
    if (fits && typeof id === 'string' && of === sort) return { value: value as string | number, id };
  } catch {
    // Not one of our cursors; reported below.
  }
  throw failure('INVALID_INPUT', 'list.badCursor', {}, { details: { cursor } });
}
