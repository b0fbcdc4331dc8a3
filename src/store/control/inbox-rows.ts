import { RepriseError } from '../../errors.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type { InboxItem, InboxState } from '../store.ts';
import type { Database } from './database.ts';

interface InboxRow {
  readonly id: string;
  readonly session_id: string;
  readonly session_key: string;
  readonly state: InboxState;
  readonly body: string;
  readonly detail: string | null;
  readonly attempts: number;
  readonly created_at: string;
}

export function cancelPending(db: Database, sessionId: string, reason: string): void {
  db.run(
    "UPDATE inbox SET state = 'cancelled', detail = ? WHERE session_id = ? AND state IN ('accepted', 'running')",
    JSON.stringify({ reason }),
    sessionId,
  );
}

export function getItem(db: Database, inboxId: string): InboxItem {
  const row = db.row<InboxRow>('SELECT * FROM inbox WHERE id = ?', inboxId);
  if (row === undefined)
    throw new RepriseError('NOT_FOUND', `no inbox item ${inboxId}`, { details: { inboxId } });
  return toItem(row);
}

export function oldestAccepted(db: Database, sessionId: string): InboxItem | null {
  return oldest(db, sessionId, 'accepted');
}

export function oldestRunning(db: Database, sessionId: string): InboxItem | null {
  return oldest(db, sessionId, 'running');
}

function oldest(db: Database, sessionId: string, state: InboxState): InboxItem | null {
  // Both states are spelled out so that the index on them is used.
  const row = db.row<InboxRow>(
    "SELECT * FROM inbox WHERE session_id = ? AND state IN ('accepted', 'running') AND state = ? ORDER BY number LIMIT 1",
    sessionId,
    state,
  );
  return row === undefined ? null : toItem(row);
}

export function pendingItems(db: Database, sessionId: string | undefined): InboxItem[] {
  const rows =
    sessionId === undefined
      ? db.rows<InboxRow>("SELECT * FROM inbox WHERE state IN ('accepted', 'running') ORDER BY number")
      : db.rows<InboxRow>(
          "SELECT * FROM inbox WHERE session_id = ? AND state IN ('accepted', 'running') ORDER BY number",
          sessionId,
        );
  return rows.map(toItem);
}

function toItem(row: InboxRow): InboxItem {
  return {
    inboxId: row.id,
    sessionId: row.session_id,
    sessionKey: row.session_key,
    state: row.state,
    body: JSON.parse(row.body) as JsonObject,
    attempts: row.attempts,
    createdAt: row.created_at,
    ...(row.detail !== null && { detail: JSON.parse(row.detail) as JsonObject }),
  };
}
