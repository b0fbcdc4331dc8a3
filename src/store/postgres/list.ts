import type { ListQuery, SessionPage, SessionStatus } from '../port/store.ts';
import {
  formatCursor,
  type ListOrder,
  orderOf,
  pageSize,
  parseCursor,
  statusesOf,
} from '../rules/list-cursor.ts';
import { recentOf, recordOf } from '../rules/session-state.ts';
import type { Sql } from './connection/connections.ts';
import { SESSION_COLUMNS, type SessionRow } from './rows.ts';
import { shortNameOf } from './short-name.ts';
import { plainText } from './text.ts';

const COLUMNS = SESSION_COLUMNS.split(', ')
  .map((name) => `s.${name}`)
  .join(', ');
/** Ignores the case of ASCII letters only, as every store does. */
const TITLED = (n: string): string => {
  // Without the collation, the parameter would be folded by the database's locale, unlike the columns.
  const sought = `lower(${n} COLLATE "C")`;
  return `(strpos(lower(s.title), ${sought}) > 0 OR strpos(lower(coalesce(s.label, '')), ${sought}) > 0)`;
};

/** Compares values of any length; the indexes contain only the first 200 characters. */
const START = (column: string, place: string): string =>
  `left(s.${column}, 200) = left(${place}, 200) AND s.${column} = ${place}`;

/**
 * Lists sessions. A cursor is a position in the order, not an offset, so pages stay correct while sessions appear and
 * disappear.
 */
export async function listSessions(sql: Sql, query: ListQuery): Promise<SessionPage> {
  const order = orderOf(query);
  const size = pageSize(query.limit);
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const limit = bind(size + 1);
  const filter = filterOf(query, bind);
  const place = placeOf(query, order, bind);
  const part = (status: SessionStatus, names: readonly string[], more = ''): string =>
    `(SELECT ${COLUMNS}, s.folded FROM reprise.sessions AS s WHERE s.status = ${bind(status)} ${more} ${filter}
      ${place === '' ? '' : `AND (${names.join(', ')}) ${place}`} ${orderBy(names, order)} LIMIT ${limit})`;
  const exact = exactNames(order);
  const { sort } = order;
  const listed = [`s.listed_${sort}`, 's.folded'];
  // The list indexes lag behind. Sessions that have grown since are read separately and merged.
  const parts = statusesOf(query).flatMap((status) =>
    sort === 'time'
      ? [part(status, exact)]
      : [part(status, listed, 'AND NOT s.unlisted'), part(status, exact, 'AND s.unlisted')],
  );
  const rows = await sql.query<SessionRow & { is_active: boolean }>(
    `SELECT ${COLUMNS}, a.session_id IS NOT NULL AS is_active
     FROM (${parts.join(' UNION ALL ')}) AS s
     LEFT JOIN reprise.active AS a ON a.key = ${shortNameOf('s.key')} AND a.session_id = s.id
     ${orderBy(exact, order)} LIMIT ${limit}`,
    values,
  );
  const page = rows.slice(0, size);
  const last = page.at(-1);
  return {
    sessions: page.map((row) => recordOf(row, row.is_active)),
    cursor: rows.length > size && last !== undefined ? formatCursor(last, order) : null,
  };
}

function filterOf(query: ListQuery, bind: (value: unknown) => string): string {
  const { agentId, channel, kind, parentId, owner, text } = query;
  const terms: string[] = [];
  for (const [column, value] of Object.entries({ agent_id: agentId, kind, owner }))
    if (value !== undefined) terms.push(`AND s.${column} = ${bind(plainText(value))}`);
  for (const [column, value] of Object.entries({ channel, parent_id: parentId }))
    if (value !== undefined) terms.push(`AND ${START(column, bind(plainText(value)))}`);
  if (text !== undefined) terms.push(`AND ${TITLED(bind(plainText(text)))}`);
  return terms.join(' ');
}

/** The condition for rows after the cursor's position; empty without a cursor. */
function placeOf({ cursor }: ListQuery, order: ListOrder, bind: (value: unknown) => string): string {
  if (cursor === undefined) return '';
  const { value, id } = parseCursor(cursor, order);
  const folded = bind(plainText(id.toLowerCase()));
  const time = (at: string): string => bind(plainText(at));
  const place =
    order.sort === 'time'
      ? [time(recentOf(String(value))), time(String(value)), folded]
      : [`${bind(value)}::bigint`, folded];
  return `${order.isAscending ? '>' : '<'} (${place.join(', ')})`;
}

/** The exact sort columns. */
function exactNames({ sort, column }: ListOrder): readonly string[] {
  const names = sort === 'time' ? ['recent', column, 'folded'] : [column, 'folded'];
  return names.map((name) => `s.${name}`);
}

function orderBy(names: readonly string[], { direction }: ListOrder): string {
  return `ORDER BY ${names.map((name) => `${name} ${direction}`).join(', ')}`;
}
