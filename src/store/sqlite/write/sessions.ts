import { parseSessionId } from '../../../keys/ids.ts';
import { agentOfKey, formatSessionKey, parseSessionKey } from '../../../keys/session-key.ts';
import { failure } from '../../../messages/failure.ts';
import type { JsonObject } from '../../../transcript/json.ts';
import { eraseLog } from '../../jsonl/channel-log/convlog-erase.ts';
import type { PurgeOptions } from '../../port/purge.ts';
import type { ChangeOptions, PatchOptions, SessionInit, SessionRecord } from '../../port/store.ts';
import { originEntries, withOwner } from '../../rules/origin.ts';
import {
  assertHasKey,
  assertOpen,
  damagedHeader,
  existsUnderOtherKey,
  idStaysTaken,
  nameTaken,
} from '../../rules/refusals.ts';
import { assertSeen } from '../../rules/seen.ts';
import { activation, headerLine, patchEntries, settingsEntry } from '../../rules/session-lines.ts';
import type { Database } from '../database.ts';
import { findIgnoringCase, findSession, isPurged, type SessionRow, toRecord } from '../session-row.ts';
import { writeEntries, writeKeyed } from './append.ts';
import type { Batch } from './batch.ts';
import { noteErasure } from './erasure.ts';
import { cancelPending } from './inbox-rows.ts';
import { adoptOrigin, findSource } from './sources.ts';

/** Creates and activates a session in one transaction, so that concurrent calls for one key get the same session. */
export function openSession(
  batch: Batch,
  { activate = false, ...init }: SessionInit & { readonly id: string },
): SessionRecord {
  const { db } = batch;
  const imported = init.source === undefined ? undefined : findSource(db, init.source);
  if (imported !== undefined) return toRecord(db, batch.session(imported.sessionId));
  if (!activate) return createSession(batch, init);
  const key = formatSessionKey(parseSessionKey(init.key));
  const active = activeSession(db, key);
  if (active !== undefined) return toRecord(db, batch.session(active));
  return activateSession(batch, { key, id: createSession(batch, init).id });
}

/** The active session of a canonical key. After a delete the row keeps its counter but names no session. */
export function activeSession(db: Database, key: string): string | undefined {
  const active = db.row<{ session_id: string }>(
    "SELECT session_id FROM active WHERE key = ? AND session_id <> ''",
    key,
  );
  return active?.session_id;
}

export function createSession(batch: Batch, init: SessionInit & { readonly id: string }): SessionRecord {
  const { db } = batch;
  const id = parseSessionId(init.id);
  const parts = parseSessionKey(init.key);
  const key = formatSessionKey(parts);
  const existing = findIgnoringCase(db, id);
  if (existing !== undefined) {
    if (existing.corrupt_at === 0) throw damagedHeader(existing.id);
    if (existing.id === id && existing.key === key) return toRecord(db, batch.session(id));
    throw existsUnderOtherKey(id, existing);
  }
  if (isPurged(db, id)) throw idStaysTaken(id);
  batch.space?.assertRoom();
  const agentId = agentOfKey(parts);
  if (db.row('SELECT 1 FROM strangers WHERE agent_id = ? AND id = ?', agentId, id) !== undefined)
    throw nameTaken(id, agentId);
  const channel = 'channel' in parts ? parts.channel : undefined;
  const timestamp = init.createdAt ?? batch.now();
  const header = headerLine({
    id,
    timestamp,
    cwd: init.cwd ?? '',
    agentId,
    key,
    parentSession: init.parentId,
  });
  db.run(
    `INSERT INTO sessions (id, agent_id, key, kind, channel, parent_id, created_at, last_at, seq, q)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 1)`,
    id,
    agentId,
    key,
    parts.kind,
    channel ?? null,
    init.parentId ?? null,
    timestamp,
    timestamp,
  );
  const row = batch.session(id);
  batch.addLines(row, 1, [header.line]);
  if (header.keyLeftOut) writeEntries(batch, row, [activation(key, 0)]);
  const parent =
    init.owner === undefined && init.parentId !== undefined ? findSession(db, init.parentId) : undefined;
  for (const origin of originEntries(withOwner(init, parent))) {
    writeEntries(batch, row, [origin]);
    adoptOrigin(db, row, origin as JsonObject);
  }
  if (init.settings !== undefined) writeEntries(batch, row, [settingsEntry(init.settings)]);
  return toRecord(db, row);
}

export interface ActivateRequest {
  readonly key: string;
  readonly id: string;
  readonly reason?: string;
  readonly appendKey?: string;
}

/** Activates a session and records it in the transcript: if the index is lost, the highest counter of a key wins. */
export function activateSession(
  batch: Batch,
  { key, id, reason, appendKey }: ActivateRequest,
): SessionRecord {
  const { db } = batch;
  const row = batch.session(id);
  const canonical = formatSessionKey(parseSessionKey(key));
  if (appendKey !== undefined && batch.knownKey(row.id, appendKey) !== undefined) return toRecord(db, row);
  assertOpen(row);
  assertHasKey(row, canonical);
  const current = db.row<{ session_id: string; counter: number }>(
    'SELECT * FROM active WHERE key = ?',
    canonical,
  );
  if (current?.session_id !== row.id) {
    batch.assertWritable(row);
    const counter = (current?.counter ?? 0) + 1;
    const entry = activation(canonical, counter, reason);
    if (appendKey === undefined) writeEntries(batch, row, [entry]);
    else writeKeyed(batch, row, [entry], { key: appendKey });
    db.run('INSERT OR REPLACE INTO active VALUES (?, ?, ?)', canonical, row.id, counter);
  }
  return toRecord(db, row);
}

type ChangeRequest = ChangeOptions & { readonly id: string };
type PatchRequest = PatchOptions & { readonly id: string };

function changeable(batch: Batch, id: string, seen: ChangeOptions): SessionRow {
  const row = batch.session(id);
  if (seen.ifSeen !== undefined) assertSeen(toRecord(batch.db, row), seen);
  return row;
}

export function patchSession(
  batch: Batch,
  { id, settings, title, ...seen }: PatchRequest & { readonly settings: JsonObject },
): SessionRecord {
  const row = changeable(batch, id, seen);
  assertOpen(row);
  batch.assertWritable(row);
  writeEntries(batch, row, patchEntries(settings, title));
  return toRecord(batch.db, row);
}

/**
 * Writes a tombstone instead of removing data (P3): fences the runner, cancels waiting messages and frees the key.
 */
export function deleteSession(batch: Batch, { id, ...seen }: ChangeRequest): SessionRecord {
  const { db } = batch;
  const row = changeable(batch, id, seen);
  if (row.status !== 'deleted') {
    batch.assertWritable(row);
    row.epoch++;
    writeEntries(batch, row, [{ type: 'custom', customType: 'reprise.deleted' }]);
    db.run('DELETE FROM leases WHERE session_id = ?', row.id);
    // Keep the counter: a later activation must have the highest counter of its key.
    db.run("UPDATE active SET session_id = '' WHERE key = ? AND session_id = ?", row.key, row.id);
    cancelPending(db, row.id, 'deleted');
  }
  return toRecord(db, row);
}

/** Restores a session. Never takes a key from the session that has it now. */
export function restoreSession(batch: Batch, { id, ...seen }: ChangeRequest): SessionRecord {
  const { db } = batch;
  const row = changeable(batch, id, seen);
  if (row.status === 'deleted') {
    batch.assertWritable(row);
    writeEntries(batch, row, [{ type: 'custom', customType: 'reprise.restored' }]);
    const holder = db.row<{ session_id: string }>('SELECT session_id FROM active WHERE key = ?', row.key);
    if (holder?.session_id === '') activateSession(batch, { key: row.key, id: row.id, reason: 'restored' });
  }
  return toRecord(db, row);
}

/**
 * Removes everything of a deleted session except its id, which is never reused. Files are removed after the commit.
 */
export function purgeSession(
  batch: Batch,
  { id, keepChannelLog = false, ...seen }: PurgeOptions & { readonly id: string },
): void {
  const { db } = batch;
  const row = changeable(batch, id, seen);
  if (row.status !== 'deleted') {
    throw failure('INVALID_INPUT', 'session.notTrashed', { id }, { details: { id } });
  }
  const chats = keepChannelLog ? [] : eraseLog(batch, row);
  removeSession(batch, row);
  // A message without an idempotency key cannot be delivered again. The others keep an empty row, so that they do not
  // run twice.
  db.run('DELETE FROM inbox WHERE session_id = ? AND id NOT IN (SELECT inbox_id FROM inbound_keys)', row.id);
  noteErasure(db, { agentId: row.agent_id, id: row.id, chats });
}

/** Removes the session's data and records its id as purged. */
export function removeSession(batch: Batch, row: SessionRow): void {
  const { db } = batch;
  const tables = [
    'journal',
    'append_keys',
    'marks',
    'foreign_lines',
    'skipped_lines',
    'leases',
    'blobs',
    'notes',
    'usage',
    'outbox',
    'sources',
    'source_entries',
  ];
  for (const table of tables) {
    db.run(`DELETE FROM ${table} WHERE session_id = ?`, row.id);
  }
  // The rows stay without their text, so that a message is never accepted twice.
  db.run("UPDATE inbox SET body = '{}', detail = NULL, carries = NULL WHERE session_id = ?", row.id);
  db.run('DELETE FROM sessions WHERE id = ?', row.id);
  db.run('INSERT OR IGNORE INTO purged VALUES (?)', row.id);
  batch.drop(row);
}

/** Marks a session as read-only after a read found damage. */
export function markDamaged(
  batch: Batch,
  { id, offset }: { readonly id: string; readonly offset: number },
): void {
  const row = batch.session(id);
  // Check again: a cut file may have been repaired meanwhile, and then nothing is damaged.
  if (!hasDamage(batch, row)) return;
  row.corrupt_at ??= offset;
  batch.db.run('UPDATE sessions SET corrupt_at = ? WHERE id = ?', row.corrupt_at, row.id);
}

function hasDamage({ source }: Batch, row: SessionRow): boolean {
  for (let from = 1; from <= row.seq; ) {
    const { to, damagedAt } = source.lines(row, { from, to: row.seq });
    if (damagedAt !== undefined) return true;
    from = to + 1;
  }
  return false;
}
