import { parseSessionId } from '../../keys/ids.ts';
import { agentOfKey, formatSessionKey, parseSessionKey } from '../../keys/session-key.ts';
import { failure } from '../../messages/failure.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type { PurgeOptions } from '../port/purge.ts';
import type { ChangeOptions, PatchOptions, SessionInit, SessionRecord } from '../port/store.ts';
import { originEntries, withOwner } from '../rules/origin.ts';
import { assertHasKey, assertOpen, existsUnderOtherKey, idStaysTaken } from '../rules/refusals.ts';
import { assertSeen } from '../rules/seen.ts';
import { activation, headerLine, patchEntries, settingsEntry } from '../rules/session-lines.ts';
import { recentOf, recordOf } from '../rules/session-state.ts';
import type { Sql } from './connection/connections.ts';
import type { Tx } from './connection/tx.ts';
import { findSession, getSession, insertSession, isPurged, lockSession, type SessionRow } from './rows.ts';
import { claimSource, sessionOfSource } from './sources.ts';
import { plainText } from './text.ts';
import { type ActiveRow, activeSession, canonicalKey, lockKey, setActive } from './write/active.ts';
import { isKnownKey, writeKeyed } from './write/append.ts';
import { eraseLog } from './write/convlog-rows.ts';
import { cancelPending, dropUnkeyed, forgetBodies } from './write/inbox-rows.ts';
import { writeEntries } from './write/write-entries.ts';

export type NewSessionInit = Omit<SessionInit, 'activate'> & { readonly id: string };

/** Creates and activates a session in one transaction, so that concurrent calls for one key get the same session. */
export async function openSession(
  tx: Tx,
  { activate = false, ...init }: SessionInit & { readonly id: string },
): Promise<SessionRecord> {
  const imported = init.source === undefined ? undefined : await sessionOfSource(tx, init.source);
  if (imported !== undefined) return recordFor(tx, await lockSession(tx, imported));
  if (!activate) return recordFor(tx, (await createSession(tx, init)).row);
  const key = canonicalKey(init.key);
  const active = await lockKey(tx, key);
  if (active.session_id !== '') return recordFor(tx, await lockSession(tx, active.session_id));
  const { row } = await createSession(tx, init);
  await activateRow(tx, row, active);
  return recordFor(tx, row);
}

/**
 * Returns the locked row of a session and whether it is new. An existing id under the same key is returned as it is.
 */
export async function createSession(
  tx: Tx,
  init: NewSessionInit,
): Promise<{ readonly row: SessionRow; readonly isNew: boolean }> {
  const id = parseSessionId(init.id);
  const parts = parseSessionKey(init.key);
  const key = formatSessionKey(parts);
  const existing = await findFolded(tx, id);
  if (existing !== undefined) return { row: await sameSession(tx, existing, { id, key }), isNew: false };
  if (await isPurged(tx, id)) throw idStaysTaken(id);
  const { source } = init;
  if (source !== undefined && !(await claimSource(tx, id, source))) {
    // Another transaction imported the same source a moment earlier.
    const winner = await sessionOfSource(tx, source);
    if (winner === undefined) throw failure('STORE_BUSY', 'session.beingRemoved', { id });
    return { row: await lockSession(tx, winner), isNew: false };
  }
  const parent =
    init.owner === undefined && init.parentId !== undefined
      ? await findSession(tx, init.parentId)
      : undefined;
  const owned = withOwner(init, parent);
  const agentId = agentOfKey(parts);
  const timestamp = init.createdAt ?? tx.now();
  const header = headerLine({
    id,
    timestamp,
    cwd: init.cwd ?? '',
    agentId,
    key,
    parentSession: init.parentId,
  });
  const row: SessionRow = {
    id,
    agent_id: agentId,
    key,
    kind: parts.kind,
    channel: 'channel' in parts ? (parts.channel ?? null) : null,
    parent_id: init.parentId === undefined ? null : plainText(init.parentId),
    owner: owned.owner ?? null,
    title: '',
    label: null,
    status: 'open',
    created_at: timestamp,
    last_at: timestamp,
    recent: recentOf(timestamp),
    message_count: 0,
    turn_count: 0,
    token_estimate: 0,
    settings: '{}',
    seq: 1,
    q: 1,
    leaf: null,
    epoch: 0,
    lease_epoch: 0,
    context_seq: 1,
    context_compaction: 0,
    bytes: Buffer.byteLength(header.line),
    corrupt_at: null,
  };
  if (!(await insertSession(tx, row))) {
    // Another transaction inserted the same id a moment earlier.
    const winner = await findFolded(tx, id);
    if (winner === undefined) throw failure('STORE_BUSY', 'session.beingRemoved', { id });
    return { row: await sameSession(tx, winner, { id, key }), isNew: false };
  }
  tx.addLines(row, [{ session_id: id, seq: 1, entry_id: null, line: header.line.slice(0, -1) }]);
  if (header.keyLeftOut) await writeEntries(tx, row, [activation(key, 0)]);
  for (const origin of originEntries(owned)) await writeEntries(tx, row, [origin]);
  if (init.settings !== undefined) await writeEntries(tx, row, [settingsEntry(init.settings)]);
  return { row, isNew: true };
}

interface Named {
  readonly id: string;
  readonly key: string;
}

async function findFolded(sql: Sql, id: string): Promise<Named | undefined> {
  const [row] = await sql.query<Named>('SELECT id, key FROM reprise.sessions WHERE folded = $1', [
    id.toLowerCase(),
  ]);
  return row;
}

async function sameSession(tx: Tx, existing: Named, { id, key }: Named): Promise<SessionRow> {
  if (existing.id === id && existing.key === key) return lockSession(tx, id);
  throw existsUnderOtherKey(id, existing);
}

export interface ActivateRequest {
  readonly key: string;
  readonly id: string;
  readonly reason?: string;
  readonly appendKey?: string;
}

export async function activateSession(
  tx: Tx,
  { key, id, appendKey, ...why }: ActivateRequest,
): Promise<SessionRecord> {
  const canonical = canonicalKey(key);
  const active = await lockKey(tx, canonical);
  const row = await lockSession(tx, id);
  if (appendKey !== undefined && (await isKnownKey(tx, row, appendKey))) return recordFor(tx, row);
  assertOpen(row);
  assertHasKey(row, canonical);
  await activateRow(tx, row, active, { ...why, ...(appendKey !== undefined && { appendKey }) });
  return recordFor(tx, row);
}

/**
 * Activates a session under the locks of its key and its row. The transcript records it too: the highest counter of a
 * key wins.
 */
export async function activateRow(
  tx: Tx,
  row: SessionRow,
  current: ActiveRow,
  { reason, appendKey }: Pick<ActivateRequest, 'reason' | 'appendKey'> = {},
): Promise<void> {
  if (current.session_id === row.id) return;
  const counter = current.counter + 1;
  const entry = activation(row.key, counter, reason);
  if (appendKey === undefined) await writeEntries(tx, row, [entry]);
  else await writeKeyed(tx, row, [entry], { key: appendKey });
  setActive(tx, row.key, { session_id: row.id, counter });
}

type ChangeRequest = ChangeOptions & { readonly id: string };
type PatchRequest = PatchOptions & { readonly id: string };

/** Checks a precondition on a locked row, so the compared values cannot change before the commit. */
async function checkSeen(tx: Tx, row: SessionRow, seen: ChangeOptions): Promise<void> {
  if (seen.ifSeen !== undefined) assertSeen(await recordFor(tx, row), seen);
}

export async function patchSession(
  tx: Tx,
  { id, settings, title, ...seen }: PatchRequest & { readonly settings: JsonObject },
): Promise<SessionRecord> {
  const row = await lockSession(tx, id);
  await checkSeen(tx, row, seen);
  assertOpen(row);
  await writeEntries(tx, row, patchEntries(settings, title));
  return recordFor(tx, row);
}

/**
 * Writes a tombstone instead of removing data (P3): fences the runner, cancels waiting messages and frees the key.
 */
export async function deleteSession(tx: Tx, { id, ...seen }: ChangeRequest): Promise<SessionRecord> {
  const { row, active } = await lockWithKey(tx, id);
  await checkSeen(tx, row, seen);
  if (row.status !== 'deleted') {
    row.epoch++;
    row.lease_epoch = 0;
    await writeEntries(tx, row, [{ type: 'custom', customType: 'reprise.deleted' }]);
    tx.run('DELETE FROM reprise.leases WHERE session_id = $1', [id]);
    // Keep the counter: a later activation must have the highest counter of its key.
    if (active.session_id === id) setActive(tx, row.key, { ...active, session_id: '' });
    cancelPending(tx, id, 'deleted');
    tx.news.inboxes.add(id);
  }
  return recordFor(tx, row);
}

/** Restores a session. Never takes a key from the session that has it now. */
export async function restoreSession(tx: Tx, { id, ...seen }: ChangeRequest): Promise<SessionRecord> {
  const { row, active } = await lockWithKey(tx, id);
  await checkSeen(tx, row, seen);
  if (row.status === 'deleted') {
    await writeEntries(tx, row, [{ type: 'custom', customType: 'reprise.restored' }]);
    // A counter above 0 means that the key had a session before.
    if (active.session_id === '' && active.counter > 0)
      await activateRow(tx, row, active, { reason: 'restored' });
  }
  return recordFor(tx, row);
}

/** Removes everything of a deleted session except its id, which is never reused. */
export async function purgeSession(
  tx: Tx,
  { id, keepChannelLog = false, ...seen }: PurgeOptions & { readonly id: string },
): Promise<void> {
  const row = await lockSession(tx, id);
  await checkSeen(tx, row, seen);
  if (row.status !== 'deleted') {
    throw failure('INVALID_INPUT', 'session.notTrashed', { id }, { details: { id } });
  }
  if (!keepChannelLog) await eraseLog(tx, id);
  await removeSession(tx, id);
  dropUnkeyed(tx, id);
}

/** Removes the session's data and records its id as purged. */
export async function removeSession(tx: Tx, id: string): Promise<void> {
  tx.drop(await lockSession(tx, id));
  for (const table of [
    'lines',
    'append_keys',
    'blobs',
    'leases',
    'search_blocks',
    'notes',
    'live_events',
    'usage',
    'outbox',
    'sources',
    'source_entries',
  ])
    tx.run(`DELETE FROM reprise.${table} WHERE session_id = $1`, [id]);
  // The rows stay without their text, so that a message is never accepted twice.
  forgetBodies(tx, id);
  tx.run('DELETE FROM reprise.sessions WHERE id = $1', [id]);
  tx.run('INSERT INTO reprise.purged (id) VALUES ($1) ON CONFLICT DO NOTHING', [id.toLowerCase()]);
  tx.news.sessions.add(id);
}

/** The record as it will be after the commit. */
async function recordFor(tx: Tx, row: SessionRow): Promise<SessionRecord> {
  return recordOf(row, (await activeSession(tx, row.key)) === row.id);
}

/** The key of a session never changes, so it can be read before it is locked. */
async function lockWithKey(
  tx: Tx,
  id: string,
): Promise<{ readonly row: SessionRow; readonly active: ActiveRow }> {
  const { key } = await getSession(tx, id);
  const active = await lockKey(tx, key);
  return { row: await lockSession(tx, id), active };
}
