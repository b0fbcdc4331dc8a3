import { formatCursor, pageSize, parseCursor, statusesOf } from '../common/list-cursor.ts';
import { recentOf, recordOf } from '../common/session-state.ts';
import type { ListQuery, SessionPage } from '../store.ts';
import type { Sql } from './connections.ts';
import { SESSION_COLUMNS, type SessionRow } from './rows.ts';
import { shortNameOf } from './short-name.ts';
import { plainText } from './text.ts';

const COLUMNS = SESSION_COLUMNS.split(', ')
  .map((name) => `s.${name}`)
  .join(', ');
/** Ignoring the case of ASCII, as every store does. */
const TITLED = (n: number): string => {
  // Else a parameter is folded by the locale of the database, and the columns are not.
  const sought = `lower($${n} COLLATE "C")`;
  return `(strpos(lower(s.title), ${sought}) > 0 OR strpos(lower(coalesce(s.label, '')), ${sought}) > 0)`;
};

/** Of any length: their indexes have the beginning only. */
const START = (column: string, place: string): string =>
  `left(s.${column}, 200) = left(${place}, 200) AND s.${column} = ${place}`;

const ORDER = 'recent DESC, last_at DESC, folded DESC';

/** Newest first. A cursor is a place, not a count, so pages stay right while sessions come and go. */
export async function listSessions(sql: Sql, query: ListQuery): Promise<SessionPage> {
  const { agentId, channel, kind, parentId, cursor, text } = query;
  const size = pageSize(query.limit);
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const terms: string[] = [];
  for (const [column, value] of Object.entries({ agent_id: agentId, kind }))
    if (value !== undefined) terms.push(`s.${column} = ${bind(plainText(value))}`);
  for (const [column, value] of Object.entries({ channel, parent_id: parentId }))
    if (value !== undefined) terms.push(START(column, bind(plainText(value))));
  if (text !== undefined) terms.push(TITLED(values.push(plainText(text))));
  if (cursor !== undefined) {
    const { lastAt, id } = parseCursor(cursor);
    const place = [recentOf(lastAt), lastAt, id.toLowerCase()].map((part) => bind(plainText(part)));
    terms.push(`(s.recent, s.last_at, s.folded) < (${place.join(', ')})`);
  }
  const limit = bind(size + 1);
  // Each status has its own order in the indexes: the newest of all are among the newest of each.
  const newest = statusesOf(query).map(
    (one) => `(SELECT ${SESSION_COLUMNS}, folded FROM reprise.sessions AS s
      WHERE ${[`s.status = ${bind(one)}`, ...terms].join(' AND ')} ORDER BY ${ORDER} LIMIT ${limit})`,
  );
  const rows = await sql.query<SessionRow & { is_active: boolean }>(
    `SELECT ${COLUMNS}, a.session_id IS NOT NULL AS is_active FROM (${newest.join(' UNION ALL ')}) AS s
     LEFT JOIN reprise.active AS a ON a.key = ${shortNameOf('s.key')} AND a.session_id = s.id
     ORDER BY s.recent DESC, s.last_at DESC, s.folded DESC LIMIT ${limit}`,
    values,
  );
  const page = rows.slice(0, size);
  const last = page.at(-1);
  return {
    sessions: page.map((row) => recordOf(row, row.is_active)),
    cursor: rows.length > size && last !== undefined ? formatCursor(last) : null,
  };
}
