import type { SQLInputValue } from 'node:sqlite';
import { formatCursor, pageSize, parseCursor, statusesOf } from '../common/list-cursor.ts';
import { recentOf } from '../common/session-state.ts';
import type { ListQuery, SessionPage } from '../store.ts';
import type { Database } from './database.ts';
import { type SessionRow, toRecord } from './session-row.ts';
import type { Steps } from './steps.ts';

/** Up to so many matches are gathered and sorted; more are met soon enough by going through all, newest first. */
const FEW = 1000;
/** Titles of so many are looked at before all are. */
const RECENT = 2000;
const ROWS_PER_STEP = 4000;
const NEWEST_FIRST = 'ORDER BY recent DESC, last_at DESC, id DESC';
const TEXT = "(instr(lower(title), lower(?)) > 0 OR instr(lower(coalesce(label, '')), lower(?)) > 0)";

type Place = Pick<SessionRow, 'last_at' | 'id'>;

interface Filter {
  readonly where: string;
  readonly values: readonly SQLInputValue[];
}

/**
 * Newest first. A cursor is a place, not a count, so pages stay right while sessions come and go. Columns are found
 * by an index; text in titles is not, so it is looked for in steps.
 */
export function* listSessions(db: Database, query: ListQuery): Steps<SessionPage> {
  const { limit, text } = query;
  const size = pageSize(limit);
  const answer = (rows: readonly SessionRow[]): SessionPage => {
    const page = rows.slice(0, size);
    const last = page.at(-1);
    return {
      sessions: page.map((row) => toRecord(db, row)),
      cursor: rows.length > size && last !== undefined ? formatCursor(last) : null,
    };
  };
  if (text === undefined) return db.snapshot(() => answer(newest(db, query, size + 1)));
  const recent = db.snapshot(() => {
    const { rows, isAll } = recentlyTitled(db, query, text, size + 1);
    return isAll || rows.length > size ? answer(rows) : undefined;
  });
  if (recent !== undefined) return recent;
  const ids = yield* matchingIds(db, query, text);
  const { where, values } = filterOf(query, { text });
  return db.snapshot(() =>
    answer(
      db.rows<SessionRow>(
        `SELECT * FROM sessions WHERE id IN (SELECT value FROM json_each(?)) AND ${where} ${NEWEST_FIRST} LIMIT ?`,
        JSON.stringify(ids),
        ...values,
        size + 1,
      ),
    ),
  );
}

/** By an index that holds the order, or by one that finds the few that match. */
function newest(db: Database, query: ListQuery, limit: number): SessionRow[] {
  if (matchesFew(db, query)) {
    const { where, values } = filterOf(query, { unordered: true });
    return db.rows<SessionRow>(
      `SELECT * FROM sessions WHERE ${where} ORDER BY +last_at DESC, +id DESC LIMIT ?`,
      ...values,
      limit,
    );
  }
  const rows = statusesOf(query).flatMap((status) => {
    const { where, values } = filterOf({ ...query, status });
    return db.rows<SessionRow>(
      `SELECT * FROM sessions WHERE ${where} ${NEWEST_FIRST} LIMIT ?`,
      ...values,
      limit,
    );
  });
  return rows.sort(compareRows).slice(0, limit);
}

/** Text is looked for among the newest first: there, or nowhere near, is what people look for. */
function recentlyTitled(
  db: Database,
  query: ListQuery,
  text: string,
  limit: number,
): { readonly rows: SessionRow[]; readonly isAll: boolean } {
  const { agentId, cursor } = query;
  const statuses = statusesOf(query);
  const edges = statuses.flatMap((status) => {
    const { where, values } = filterOf({
      status,
      ...(agentId !== undefined && { agentId }),
      ...(cursor !== undefined && { cursor }),
    });
    return db.rows<Place>(
      `SELECT last_at, id FROM sessions WHERE ${where} ${NEWEST_FIRST} LIMIT 1 OFFSET ${RECENT}`,
      ...values,
    );
  });
  // The same for all: behind the first edge some are looked at and some are not.
  const [edge = { last_at: '', id: '' }] = edges.sort(compareRows);
  const rows = statuses.flatMap((status) => {
    const { where, values } = filterOf({ ...query, status }, { text });
    return db.rows<SessionRow>(
      `SELECT * FROM sessions WHERE ${where} AND (recent, last_at, id) > (?, ?, ?) ${NEWEST_FIRST} LIMIT ?`,
      ...values,
      recentOf(edge.last_at),
      edge.last_at,
      edge.id,
      limit,
    );
  });
  return { rows: rows.sort(compareRows).slice(0, limit), isAll: edges.length === 0 };
}

/** Whether one of the columns with an index of its own leaves only a few sessions. */
function matchesFew(db: Database, { channel, kind, parentId }: ListQuery): boolean {
  const columns = { channel, kind, parent_id: parentId };
  return Object.entries(columns).some(([column, value]) => {
    if (value === undefined) return false;
    const found = db.row<{ n: number }>(
      `SELECT count(*) AS n FROM (SELECT 1 FROM sessions WHERE ${column} = ? LIMIT ${FEW + 1})`,
      value,
    );
    return (found?.n ?? 0) <= FEW;
  });
}

/** In the order of their making, which never changes: nobody is missed for having moved up meanwhile. */
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

function filterOf(
  { agentId, channel, kind, parentId, status = 'open', cursor }: ListQuery,
  { text, unordered = false }: { readonly text?: string; readonly unordered?: boolean } = {},
): Filter {
  const terms: string[] = ['true'];
  const values: SQLInputValue[] = [];
  const equals = (column: string, value: string | undefined): void => {
    if (value === undefined) return;
    terms.push(`${column} = ?`);
    values.push(value);
  };
  // The plus keeps an index that is in the order of time out of it: for a few matches it would go through all.
  const plus = unordered ? '+' : '';
  equals(`${plus}agent_id`, agentId);
  equals('channel', channel);
  equals('kind', kind);
  equals('parent_id', parentId);
  if (status !== 'any') equals(`${plus}status`, status);
  if (text !== undefined) {
    terms.push(TEXT);
    values.push(text, text);
  }
  if (cursor !== undefined) {
    const { lastAt, id } = parseCursor(cursor);
    terms.push('(recent, last_at, id) < (?, ?, ?)');
    values.push(recentOf(lastAt), lastAt, id);
  }
  return { where: terms.join(' AND '), values };
}

/** As SQLite orders them: ids ignoring case. */
function compareRows(a: Place, b: Place): number {
  if (a.last_at !== b.last_at) return a.last_at < b.last_at ? 1 : -1;
  return a.id.toLowerCase() < b.id.toLowerCase() ? 1 : -1;
}
