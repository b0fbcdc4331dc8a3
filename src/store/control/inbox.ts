import { createHash } from 'node:crypto';
import { RepriseError } from '../../errors.ts';
import { parseSessionKey } from '../../keys/session-key.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type { Inbound, InboxItem, InboxReceipt, InboxState, TakeOptions } from '../store.ts';
import type { Batch } from './batch.ts';
import { writeLog } from './convlog-rows.ts';
import { getItem, oldestAccepted, oldestRunning } from './inbox-rows.ts';
import { liveLease } from './leases.ts';
import { activateSession, createSession } from './sessions.ts';

const OPEN_STATES: ReadonlySet<InboxState> = new Set(['accepted', 'running']);

export interface ReceiveRequest extends Inbound {
  readonly inboxId: string;
  /** For a session this message may have to create. */
  readonly newSessionId: string;
}

/** One transaction from the idempotency key to the row: only then is a message accepted (P6). */
export function receive(batch: Batch, request: ReceiveRequest): InboxReceipt {
  const { db } = batch;
  const { sessionKey, source, idempotencyKey, body, inboxId } = request;
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
  const session = sessionFor(batch, request);
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
  if (request.log !== undefined) writeLog(batch, [{ ...request.log, sessionId: session }]);
  return receipt(batch, getItem(db, inboxId), true);
}

function sessionFor(batch: Batch, { sessionKey, sessionId, newSessionId, reset }: ReceiveRequest): string {
  if (sessionId !== undefined) return namedSession(batch, sessionId, sessionKey);
  // Empty after a delete: the key has a counter and stands for nobody.
  const active = batch.db.row<{ session_id: string }>(
    "SELECT session_id FROM active WHERE key = ? AND session_id <> ''",
    sessionKey,
  );
  const current = active?.session_id;
  if (current !== undefined && reset === undefined) return current;
  createSession(batch, {
    id: newSessionId,
    key: sessionKey,
    ...(current !== undefined && { parentId: current }),
  });
  activateSession(batch, {
    key: sessionKey,
    id: newSessionId,
    ...(reset !== undefined && { reason: reset }),
  });
  return newSessionId;
}

function namedSession(batch: Batch, id: string, key: string): string {
  const row = batch.session(id);
  if (row.status === 'deleted')
    throw new RepriseError('SESSION_DELETED', `session ${id} is in the trash`, { details: { id } });
  if (row.key !== key)
    throw new RepriseError('INVALID_INPUT', `session ${id} belongs to ${row.key}`, {
      details: { key: row.key },
    });
  return row.id;
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
  { id, epoch, orphans = false }: TakeOptions & { readonly id: string },
): InboxItem | null {
  const row = batch.session(id);
  const lease = batch.db.row<{ epoch: number }>('SELECT epoch FROM leases WHERE session_id = ?', row.id);
  if (lease?.epoch !== epoch || row.epoch !== epoch) {
    throw new RepriseError('FENCED', `epoch ${epoch} of session ${id} is over`, {
      details: { epoch: row.epoch },
    });
  }
  const item = (orphans ? oldestRunning(batch.db, row.id) : null) ?? oldestAccepted(batch.db, row.id);
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
