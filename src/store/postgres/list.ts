import { formatCursor, pageSize, parseCursor } from '../common/list-cursor.ts';
import { recentOf, recordOf } from '../common/session-state.ts';
import type { ListQuery, SessionPage } from '../store.ts';
import type { Sql } from './connections.ts';
import { SESSION_COLUMNS, type SessionRow } from './rows.ts';
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

/** Newest first. A cursor is a place, not a count, so pages stay right while sessions come and go. */
export async function listSessions(sql: Sql, query: ListQuery): Promise<SessionPage> {
  const { agentId, channel, kind, parentId, status = 'open', cursor, text } = query;
  const size = pageSize(query.limit);
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const terms: string[] = ['true'];
  const columns = { agent_id: agentId, channel, kind, parent_id: parentId };
  for (const [column, value] of Object.entries(columns))
    if (value !== undefined) terms.push(`s.${column} = ${bind(plainText(value))}`);
  if (status !== 'any') terms.push(`s.status = ${bind(status)}`);
  if (text !== undefined) terms.push(TITLED(values.push(plainText(text))));
  if (cursor !== undefined) {
    const { lastAt, id } = parseCursor(cursor);
    const place = [recentOf(lastAt), lastAt, id.toLowerCase()].map((part) => bind(plainText(part)));
    terms.push(`(s.recent, s.last_at, s.folded) < (${place.join(', ')})`);
  }
  const rows = await sql.query<SessionRow & { is_active: boolean }>(
    `SELECT ${COLUMNS}, a.session_id IS NOT NULL AS is_active FROM reprise.sessions AS s
     LEFT JOIN reprise.active AS a ON a.key = s.key AND a.session_id = s.id
     WHERE ${terms.join(' AND ')} ORDER BY s.recent DESC, s.last_at DESC, s.folded DESC LIMIT ${bind(size + 1)}`,
    values,
  );
  const page = rows.slice(0, size);
  const last = page.at(-1);
  return {
    sessions: page.map((row) => recordOf(row, row.is_active)),
    cursor: rows.length > size && last !== undefined ? formatCursor(last) : null,
  };
}
