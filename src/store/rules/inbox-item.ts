import type { JsonObject } from '../../transcript/json.ts';
import type { InboxClass, InboxItem, InboxState } from '../port/inbox.ts';

/** Detail of a held message that its owner cancelled. */
export const CANCELLED_DETAIL: string = JSON.stringify({ reason: 'restored' });

/** A row of `inbox`, the same in every database. */
export interface InboxRow {
  readonly id: string;
  readonly session_id: string;
  readonly session_key: string;
  readonly state: InboxState;
  readonly body: string;
  readonly detail: string | null;
  readonly attempts: number;
  readonly created_at: string;
  readonly class: InboxClass;
  readonly group_name: string | null;
  readonly carries: string | null;
}

export function toItem(row: InboxRow): InboxItem {
  return {
    inboxId: row.id,
    sessionId: row.session_id,
    sessionKey: row.session_key,
    state: row.state,
    class: row.class,
    ...(row.group_name !== null && { group: row.group_name }),
    body: JSON.parse(row.body) as JsonObject,
    attempts: row.attempts,
    createdAt: row.created_at,
    ...(row.detail !== null && { detail: JSON.parse(row.detail) as JsonObject }),
    ...(row.carries !== null && { carries: JSON.parse(row.carries) as string[] }),
  };
}
