import { createHash } from 'node:crypto';
import { RepriseError } from '../../errors.ts';
import { parseSessionKey } from '../../keys/session-key.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type { Inbound, InboxItem, InboxReceipt, InboxState } from '../store.ts';
import type { Batch } from './batch.ts';
import { getItem, oldestAccepted } from './inbox-rows.ts';
import { liveLease } from './leases.ts';
import { activateSession, createSession } from './sessions.ts';

const OPEN_STATES: ReadonlySet<InboxState> = new Set(['accepted', 'running']);

export interface ReceiveRequest extends Inbound {
  readonly inboxId: string;
  /** For a session this message may have to create. */
  readonly sessionId: string;
}

/** One transaction from the idempotency key to the row: only then is a message accepted (P6). */
export function receive(batch: Batch, request: ReceiveRequest): InboxReceipt {
  const { db } = batch;
  const { sessionKey, source, idempotencyKey, body, reset, inboxId, sessionId } = request;
  const parts = parseSessionKey(sessionKey);
  const agentId = parts.kind === 'global' ? '' : parts.agentId;
  const hash = createHash('sha256')
    .update(JSON.stringify([sessionKey, body]))
    .digest('hex')
    .slice(0, 16);
  if (idempotencyKey !== undefined) {
    const known = db.row<{ hash: string; inbox_id: string }>(
      'SELECT hash, inbox_id FROM inbound_keys WHERE agent_id = ? AND source = ? AND key = ?',
      agentId,
      source,
      idempotencyKey,
    );
    if (known !== undefined) {
      if (known.hash !== hash) {
        throw new RepriseError('KEY_REUSED', `key ${idempotencyKey} was used with another message`, {
          details: { key: idempotencyKey },
        });
      }
      const item = getItem(db, known.inbox_id);
      return receipt(batch, item, false);
    }
  }
  batch.space?.assertRoom();
  const session = sessionFor(batch, { sessionKey, sessionId, reset });
  db.run(
    "INSERT INTO inbox (id, session_id, session_key, state, body, created_at) VALUES (?, ?, ?, 'accepted', ?, ?)",
    inboxId,
    session,
    sessionKey,
    JSON.stringify(body),
    batch.now(),
  );
  if (idempotencyKey !== undefined) {
    db.run('INSERT INTO inbound_keys VALUES (?, ?, ?, ?, ?)', agentId, source, idempotencyKey, hash, inboxId);
  }
  return receipt(batch, getItem(db, inboxId), true);
}

function sessionFor(
  batch: Batch,
  { sessionKey, sessionId, reset }: { sessionKey: string; sessionId: string; reset: string | undefined },
): string {
  // Empty after a delete: the key has a counter and stands for nobody.
  const active = batch.db.row<{ session_id: string }>(
    "SELECT session_id FROM active WHERE key = ? AND session_id <> ''",
    sessionKey,
  );
  if (active !== undefined && reset === undefined) return active.session_id;
  createSession(batch, {
    id: sessionId,
    key: sessionKey,
    ...(active !== undefined && { parentId: active.session_id }),
  });
  activateSession(batch, { key: sessionKey, id: sessionId, ...(reset !== undefined && { reason: reset }) });
  return sessionId;
}

function receipt(batch: Batch, { inboxId, sessionId, sessionKey }: InboxItem, fresh: boolean): InboxReceipt {
  return {
    inboxId,
    sessionId,
    sessionKey,
    fresh,
    held: liveLease(batch.db, sessionId, batch.self) !== undefined,
  };
}

/** The attempt is counted before the work starts, so that a crash loop ends. */
export function takeItem(
  batch: Batch,
  { id, epoch }: { readonly id: string; readonly epoch: number },
): InboxItem | null {
  const row = batch.session(id);
  const lease = batch.db.row<{ epoch: number }>('SELECT epoch FROM leases WHERE session_id = ?', row.id);
  if (lease?.epoch !== epoch || row.epoch !== epoch) {
    throw new RepriseError('FENCED', `epoch ${epoch} of session ${id} is over`, {
      details: { epoch: row.epoch },
    });
  }
  const item = oldestAccepted(batch.db, row.id);
  if (item === null) return null;
  batch.db.run("UPDATE inbox SET state = 'running', attempts = attempts + 1 WHERE id = ?", item.inboxId);
  return getItem(batch.db, item.inboxId);
}

/** A final state stays: settling twice keeps the first. */
export function settleItem(
  { db }: Batch,
  {
    inboxId,
    state,
    detail,
  }: { readonly inboxId: string; readonly state: InboxState; readonly detail?: JsonObject },
): void {
  const item = getItem(db, inboxId);
  if (!OPEN_STATES.has(item.state)) return;
  const text = detail === undefined ? null : JSON.stringify(detail);
  db.run('UPDATE inbox SET state = ?, detail = ? WHERE id = ?', state, text, inboxId);
}
