import type { JsonObject } from '../../../transcript/json.ts';
import { patchSettings } from '../../../transcript/settings.ts';
import { carried, type ReceiveRequest, type Recipient } from '../../rules/inbound.ts';
import { assertHasKey, assertOpen, resetFindsSession } from '../../rules/refusals.ts';
import type { SessionRow } from '../session-row.ts';
import { writeEntries } from './append.ts';
import type { Batch } from './batch.ts';
import { activateSession, activeSession, createSession } from './sessions.ts';

/** The session that receives a message. Creates one if the key has none or if a reset asks for a new one. */
export function recipientOf(batch: Batch, request: ReceiveRequest): Recipient {
  const { sessionKey, sessionId, reset } = request;
  if (sessionId !== undefined) return { id: namedSession(batch, sessionId, sessionKey) };
  const current = activeSession(batch.db, sessionKey);
  if (current === undefined) return makeSession(batch, request);
  // Two callers may see the same session expire. Only the first resets it; the second finds another one active.
  const isDue = reset !== undefined && (reset.from === undefined || reset.from === current);
  return isDue ? makeSession(batch, request, batch.session(current)) : { id: current };
}

function makeSession(batch: Batch, request: ReceiveRequest, old?: SessionRow): Recipient {
  const { sessionKey: key, reset, create = {}, newSessionId: id } = request;
  const isNew = batch.rows.find(id) === undefined;
  if (!isNew && old !== undefined) throw resetFindsSession(id);
  const settings = new Map(old === undefined ? [] : carried(old, reset));
  patchSettings(settings, create.settings ?? {});
  const parentId = old?.id ?? create.parentId;
  createSession(batch, {
    id,
    key,
    ...(parentId !== undefined && { parentId }),
    ...(create.owner !== undefined && old === undefined && { owner: create.owner }),
    ...(settings.size > 0 && { settings: Object.fromEntries(settings) as JsonObject }),
  });
  activateSession(batch, { key, id, ...(reset !== undefined && { reason: reset.reason }) });
  if (old !== undefined) leaveNote(batch, old, { next: id, reason: reset?.reason ?? '' });
  return { id, ...(isNew && { created: { replaced: old?.id ?? null } }) };
}

/**
 * Names the new session in the old one; the parent id is the link back. If the old session cannot be written, the key
 * still moves on.
 */
function leaveNote(batch: Batch, old: SessionRow, data: JsonObject): void {
  if (old.corrupt_at !== null || batch.obstacle(old.id) !== undefined) return;
  writeEntries(batch, old, [{ type: 'custom', customType: 'reprise.reset', data }]);
}

function namedSession(batch: Batch, id: string, key: string): string {
  const row = batch.session(id);
  assertOpen(row);
  assertHasKey(row, key);
  return row.id;
}
