import type { JsonObject } from '../../../transcript/json.ts';
import { patchSettings } from '../../../transcript/settings.ts';
import { carried, type ReceiveRequest, type Recipient } from '../../rules/inbound.ts';
import { assertHasKey, assertOpen, resetFindsSession } from '../../rules/refusals.ts';
import type { Tx } from '../connection/tx.ts';
import { lockSession, type SessionRow } from '../rows.ts';
import { activateRow, createSession } from '../sessions.ts';
import type { ActiveRow, LockedKey } from './active.ts';
import { writeEntries } from './write-entries.ts';

/**
 * The session that receives a message, with its row locked. Creates one if the key has none or if a reset asks for a
 * new one. The key is locked too (unless the message names a session), so that two nodes that see the same session
 * expire reset it once.
 */
export async function recipientOf(
  tx: Tx,
  request: ReceiveRequest,
  locked: LockedKey | undefined,
): Promise<Recipient> {
  if (locked === undefined) return { id: await namedSession(tx, request) };
  const { reset } = request;
  const { active, current: found } = locked;
  if (active.session_id === '') return makeSession(tx, request, { active });
  const current = found ?? (await lockSession(tx, active.session_id));
  const isDue = reset !== undefined && (reset.from === undefined || reset.from === current.id);
  return isDue ? makeSession(tx, request, { active, old: current }) : { id: current.id };
}

async function makeSession(
  tx: Tx,
  { sessionKey: key, reset, create = {}, newSessionId }: ReceiveRequest,
  { active, old }: { readonly active: ActiveRow; readonly old?: SessionRow },
): Promise<Recipient> {
  const settings = new Map(old === undefined ? [] : carried(old, reset));
  patchSettings(settings, create.settings ?? {});
  const parentId = old?.id ?? create.parentId;
  const { row, isNew } = await createSession(tx, {
    id: newSessionId,
    key,
    ...(parentId !== undefined && { parentId }),
    ...(create.owner !== undefined && old === undefined && { owner: create.owner }),
    ...(settings.size > 0 && { settings: Object.fromEntries(settings) as JsonObject }),
  });
  if (!isNew && old !== undefined) throw resetFindsSession(row.id);
  assertOpen(row);
  await activateRow(tx, row, active, reset === undefined ? {} : { reason: reset.reason });
  if (old !== undefined) await leaveNote(tx, old, { next: row.id, reason: reset?.reason ?? '' });
  return { id: row.id, ...(isNew && { created: { replaced: old?.id ?? null } }) };
}

/**
 * Names the new session in the old one; the parent id is the link back. If the old session cannot be written, the key
 * still moves on.
 */
async function leaveNote(tx: Tx, old: SessionRow, data: JsonObject): Promise<void> {
  if (old.corrupt_at !== null) return;
  await writeEntries(tx, old, [{ type: 'custom', customType: 'reprise.reset', data }]);
}

async function namedSession(tx: Tx, { sessionId = '', sessionKey }: ReceiveRequest): Promise<string> {
  const row = await lockSession(tx, sessionId);
  assertOpen(row);
  assertHasKey(row, sessionKey);
  return row.id;
}
