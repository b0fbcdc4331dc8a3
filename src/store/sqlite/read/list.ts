import type { SQLInputValue } from 'node:sqlite';
import type { ListQuery, SessionPage } from '../../port/store.ts';
import {
  compareIn,
  formatCursor,
  type ListOrder,
  orderOf,
  type PlacedSession,
  pageSize,
  parseCursor,
  statusesOf,
} from '../../rules/list-cursor.ts';
import { recentOf } from '../../rules/session-state.ts';
import type { Database } from '../database.ts';
import { type SessionRow, toRecord } from '../session-row.ts';
import type { Steps } from '../threads/steps.ts';

/**
 * Up to this many matches are collected and sorted. With more matches, walking the list in its order finds enough
 * soon.
 */
const FEW = 1000;
/** A title search looks at this many of the newest sessions before it reads all. */
const RECENT = 2000;
const ROWS_PER_STEP = 4000;
const TEXT = "(instr(lower(title), lower(?)) > 0 OR instr(lower(coalesce(label, '')), lower(?)) > 0)";

interface Filter {
  readonly where: string;
  readonly values: readonly SQLInputValue[];
}

/**
 * Lists sessions. A cursor is a position in the order, not an offset, so pages stay correct while sessions appear and
 * disappear. Indexes find column values; no index covers text in titles, so it is searched in steps.
 */
export function* listSessions(db: Database, query: ListQuery): Steps<SessionPage> {
  const { limit, text } = query;
  const order = orderOf(query);
  const size = pageSize(limit);
  const answer = (rows: readonly SessionRow[]): SessionPage => {
    const page = rows.slice(0, size);
    const last = page.at(-1);
    return {
      sessions: page.map((row) => toRecord(db, row)),
      cursor: rows.length > size && last !== undefined ? formatCursor(last, order) : null,
    };
  };
  if (text === undefined) return db.snapshot(() => answer(firstOf(db, query, order, size + 1)));
  if (order.sort === 'time' && !order.isAscending) {
    const recent = db.snapshot(() => {
      const { rows, isAll } = recentlyTitled(db, query, { text, order, limit: size + 1 });
      return isAll || rows.length > size ? answer(rows) : undefined;
    });
    if (recent !== undefined) return recent;
  }
  const ids = yield* matchingIds(db, query, text);
  const { where, values } = filterOf(query, { text });
  return db.snapshot(() =>
    answer(
      db.rows<SessionRow>(
        `SELECT * FROM sessions WHERE id IN (SELECT value FROM json_each(?)) AND ${where} ${orderBy(order)} LIMIT ?`,
        JSON.stringify(ids),
        ...values,
        size + 1,
      ),
    ),
  );
}

/** Uses an index in the list's order, or one that finds the few matching sessions. */
function firstOf(db: Database, query: ListQuery, order: ListOrder, limit: number): SessionRow[] {
  const by = columnOfFew(db, query, order);
  if (by !== undefined) {
    const { where, values } = filterOf(query, { unordered: true, by });
    const sql = `SELECT * FROM sessions WHERE ${where} ${orderBy(order, { unordered: true })} LIMIT ?`;
    return db.rows<SessionRow>(sql, ...values, limit);
  }
  const rows = statusesOf(query).flatMap((status) =>
    order.sort === 'time'
      ? inTime(db, { ...query, status }, order, limit)
      : inSize(db, { ...query, status }, order, limit),
  );
  return rows.sort(compareIn(order)).slice(0, limit);
}

function inTime(db: Database, query: ListQuery, order: ListOrder, limit: number): SessionRow[] {
  const { where, values } = filterOf(query);
  const sql = `SELECT * FROM sessions WHERE ${where} ${orderBy(order)} LIMIT ?`;
  return db.rows<SessionRow>(sql, ...values, limit);
}

/**
 * Sorts by the counts in the indexes, which lag behind. Sessions that have grown since are read separately and
 * merged.
 */
function inSize(db: Database, query: ListQuery, order: ListOrder, limit: number): SessionRow[] {
  const { sort } = order;
  const names = [`listed_${sort}`, 'id'];
  const listed = filterOf(query, { names });
  const grown = filterOf(query);
  return [
    ...db.rows<SessionRow>(
      `SELECT * FROM sessions INDEXED BY sessions_by_${sort}
       WHERE ${listed.where} AND grown = 0 ${orderBy(order, { names })} LIMIT ?`,
      ...listed.values,
      limit,
    ),
    ...db.rows<SessionRow>(
      `SELECT * FROM sessions INDEXED BY sessions_grown
       WHERE grown = 1 AND ${grown.where} ${orderBy(order)} LIMIT ?`,
      ...grown.values,
      limit,
    ),
  ];
}

interface TitleQuery {
  readonly text: string;
  readonly order: ListOrder;
  readonly limit: number;
}

/** Searches the titles of the newest sessions first, because users usually look for a recent session. */
function recentlyTitled(
  db: Database,
  query: ListQuery,
  { text, order, limit }: TitleQuery,
): { readonly rows: SessionRow[]; readonly isAll: boolean } {
  const { agentId, cursor } = query;
  const statuses = statusesOf(query);
  const compare = compareIn(order);
  const edges = statuses.flatMap((status) => {
    const { where, values } = filterOf({
      status,
      ...(agentId !== undefined && { agentId }),
      ...(cursor !== undefined && { cursor }),
    });
    return db.rows<PlacedSession>(
      `SELECT last_at, id, 0 AS message_count, 0 AS token_estimate FROM sessions
       WHERE ${where} ${orderBy(order)} LIMIT 1 OFFSET ${RECENT}`,
      ...values,
    );
  });
  // All statuses use the first of the edges: beyond it, only some statuses were searched completely.
  const [edge = { last_at: '', id: '', message_count: 0, token_estimate: 0 }] = edges.sort(compare);
  const rows = statuses.flatMap((status) => {
    const { where, values } = filterOf({ ...query, status }, { text });
    return db.rows<SessionRow>(
      `SELECT * FROM sessions WHERE ${where} AND (recent, last_at, id) > (?, ?, ?) ${orderBy(order)} LIMIT ?`,
      ...values,
      recentOf(edge.last_at),
      edge.last_at,
      edge.id,
      limit,
    );
  });
  return { rows: rows.sort(compare).slice(0, limit), isAll: edges.length === 0 };
}

/** A column with its own index that leaves at most `FEW` sessions. */
function columnOfFew(
  db: Database,
  { agentId, channel, kind, parentId, owner }: ListQuery,
  { sort }: ListOrder,
): string | undefined {
  // For the order by time, the sessions of an agent have their own index.
  const columns = {
    channel,
    kind,
    parent_id: parentId,
    owner,
    ...(sort !== 'time' && { agent_id: agentId }),
  };
  const few = Object.entries(columns).find(([column, value]) => {
    if (value === undefined) return false;
    const found = db.row<{ n: number }>(
      `SELECT count(*) AS n FROM (SELECT 1 FROM sessions WHERE ${column} = ? LIMIT ${FEW + 1})`,
      value,
    );
    return (found?.n ?? 0) <= FEW;
  });
  return few?.[0];
}

/** Walks in creation order, which never changes, so a session that moves up in the list meanwhile is not missed. */
function* matchingIds(db: Database, query: ListQuery, text: string): Steps<string[]> {
  const { where, values } = filterOf(query, { text, unordered: true });
  const last = db.row<{ n: number | null }>('SELECT max(rowid) AS n FROM sessions')?.n ?? 0;
  const ids: string[] = [];
  for (let from = 0; from < last; from += ROWS_PER_STEP) {
    yield;
    const rows = db.rows<{ id: string }>(
      `SELECT id FROM sessions WHERE rowid > ? AND rowid <= ? AND ${where}`,
      from,
      from + ROWS_PER_STEP,
      ...values,
    );
    for (const { id } of rows) ids.push(id);
  }
  return ids;
}

interface FilterOptions {
  readonly text?: string;
  readonly unordered?: boolean;
  /** If unordered: the column whose index to use. */
  readonly by?: string;
  /** The columns that a cursor compares; by default the exact sort columns. */
  readonly names?: readonly string[];
}

function filterOf(
  query: ListQuery,
  { text, unordered = false, by, names = exactNames(orderOf(query)) }: FilterOptions = {},
): Filter {
  const { agentId, channel, kind, parentId, owner, status = 'open', cursor } = query;
  const terms: string[] = ['true'];
  const values: SQLInputValue[] = [];
  const equals = (column: string, value: string | undefined): void => {
    if (value === undefined) return;
    // The unary plus keeps SQLite from using another index: one in the list's order would walk the whole list for a
    // few matches.
    terms.push(`${unordered && column !== by ? '+' : ''}${column} = ?`);
    values.push(value);
  };
  equals('agent_id', agentId);
  equals('channel', channel);
  equals('kind', kind);
  equals('parent_id', parentId);
  equals('owner', owner);
  if (status !== 'any') equals('status', status);
  if (text !== undefined) {
    terms.push(TEXT);
    values.push(text, text);
  }
  if (cursor !== undefined) {
    const order = orderOf(query);
    const { value, id } = parseCursor(cursor, order);
    const place = order.sort === 'time' ? [recentOf(String(value)), value, id] : [value, id];
    terms.push(`(${names.join(', ')}) ${order.isAscending ? '>' : '<'} (${place.map(() => '?').join(', ')})`);
    values.push(...place);
  }
  return { where: terms.join(' AND '), values };
}

function exactNames({ sort, column }: ListOrder): readonly string[] {
  return sort === 'time' ? ['recent', column, 'id'] : [column, 'id'];
}

function orderBy(
  order: ListOrder,
  { unordered = false, names = exactNames(order) }: Pick<FilterOptions, 'unordered' | 'names'> = {},
): string {
  const plus = unordered ? '+' : '';
  return `ORDER BY ${names.map((name) => `${plus}${name} ${order.direction}`).join(', ')}`;
}
