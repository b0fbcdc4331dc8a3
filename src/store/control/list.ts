import type { SQLInputValue } from 'node:sqlite';
import { RepriseError } from '../../errors.ts';
import type { ListQuery, SessionPage } from '../store.ts';
import type { Database } from './database.ts';
import { recentOf, type SessionRow, toRecord } from './session-row.ts';

const MAX_PAGE = 1000;

/** Newest first. A cursor is a place, not a count, so pages stay right while sessions come and go. */
export function listSessions(db: Database, query: ListQuery): SessionPage {
  const { limit = 50, cursor, agentId, channel, kind, parentId, status = 'open', text } = query;
  const where: string[] = [];
  const values: SQLInputValue[] = [];
  const equals = (column: string, value: string | undefined): void => {
    if (value === undefined) return;
    where.push(`${column} = ?`);
    values.push(value);
  };
  equals('agent_id', agentId);
  equals('channel', channel);
  equals('kind', kind);
  equals('parent_id', parentId);
  if (status !== 'any') equals('status', status);
  if (text !== undefined) {
    where.push("(instr(lower(title), lower(?)) > 0 OR instr(lower(coalesce(label, '')), lower(?)) > 0)");
    values.push(text, text);
  }
  if (cursor !== undefined) {
    const { lastAt, id } = parseCursor(cursor);
    where.push('(recent, last_at, id) < (?, ?, ?)');
    values.push(recentOf(lastAt), lastAt, id);
  }
  const size = Math.min(Math.max(1, Math.trunc(limit)), MAX_PAGE);
  const filter = where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`;
  const rows = db.rows<SessionRow>(
    `SELECT * FROM sessions ${filter} ORDER BY recent DESC, last_at DESC, id DESC LIMIT ?`,
    ...values,
    size + 1,
  );
  const page = rows.slice(0, size);
  const last = page.at(-1);
  return {
    sessions: page.map((row) => toRecord(db, row)),
    cursor: rows.length > size && last !== undefined ? formatCursor(last) : null,
  };
}

function formatCursor({ last_at, id }: SessionRow): string {
  return Buffer.from(JSON.stringify([last_at, id])).toString('base64url');
}

function parseCursor(cursor: string): { lastAt: string; id: string } {
  try {
    const [lastAt, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (typeof lastAt === 'string' && typeof id === 'string') return { lastAt, id };
  } catch {
    // Not one of ours; said below.
  }
  throw new RepriseError('INVALID_INPUT', 'not a cursor of this list', { details: { cursor } });
}
