import { writeLog } from '../../jsonl/channel-log/convlog-rows.ts';
import type {
  InboundKey,
  InboxGroup,
  InboxItem,
  InboxReceipt,
  InboxState,
  QueueLimit,
  RecountOptions,
  Settlement,
  TakeOptions,
} from '../../port/inbox.ts';
import {
  groupFull,
  inboundHash,
  keyOwner,
  keyReused,
  type ReceiveRequest,
  sessionBusy,
} from '../../rules/inbound.ts';
import { keptForms } from '../../rules/kept-key.ts';
import { DROPPED_DETAIL, planRoom, type Room } from '../../rules/queue-cap.ts';
import { epochOver } from '../../rules/refusals.ts';
import type { Database } from '../database.ts';
import type { SessionRow } from '../session-row.ts';
import type { Batch } from './batch.ts';
import {
  acceptedItem,
  countGroup,
  getItem,
  hasOpenItem,
  oldestAccepted,
  oldestRunning,
  queuedMessages,
} from './inbox-rows.ts';
import { recipientOf } from './inbox-session.ts';
import { liveLease } from './leases.ts';

const OPEN_STATES: ReadonlySet<InboxState> = new Set(['accepted', 'running', 'waiting']);

interface KnownMessage {
  readonly hash: string;
  readonly inbox_id: string;
}

/** Accepts a message in one transaction, from its idempotency key to its row (P6). */
export function receive(
  batch: Batch,
  request: ReceiveRequest,
  { needsRoom = true }: { readonly needsRoom?: boolean } = {},
): InboxReceipt {
  const { sessionKey, source, idempotencyKey } = request;
  const hash = inboundHash(request);
  if (idempotencyKey !== undefined) {
    const known = knownMessage(batch.db, { sessionKey, source, idempotencyKey });
    if (known !== undefined) {
      if (known.hash !== hash) throw keyReused(idempotencyKey);
      return receiptOf(batch, getItem(batch.db, known.inbox_id), { fresh: false, dropped: [] });
    }
  }
  if (needsRoom) batch.space?.assertRoom();
  return batch.attempt(() => accept(batch, request, hash));
}

function accept(batch: Batch, request: ReceiveRequest, hash: string): InboxReceipt {
  const { db } = batch;
  const { inboxId, sessionKey, source, idempotencyKey, class: kind = 'message', queue, group } = request;
  if (group !== undefined) assertGroupHasPlace(db, group);
  const { id, created } = recipientOf(batch, request);
  if (request.ifIdle === true && hasOpenItem(db, id)) throw sessionBusy(id);
  const isCapped = queue !== undefined && kind === 'message';
  const { dropped, carries }: Room = isCapped ? makeRoom(db, id, queue) : { dropped: [], carries: [] };
  db.run(
    `INSERT INTO inbox (id, session_id, session_key, state, body, created_at, class, group_name, carries)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    inboxId,
    id,
    sessionKey,
    kind === 'command' ? 'running' : 'accepted',
    JSON.stringify(request.body),
    batch.now(),
    kind,
    group?.name ?? null,
    carries.length === 0 ? null : JSON.stringify(carries),
  );
  if (idempotencyKey !== undefined) {
    const agentId = keyOwner(sessionKey);
    db.run('INSERT INTO inbound_keys VALUES (?, ?, ?, ?, ?)', agentId, source, idempotencyKey, hash, inboxId);
  }
  if (request.log !== undefined) writeLog(batch, [{ ...request.log, sessionId: id }]);
  const facts = { fresh: true, dropped, ...(created !== undefined && { created }) };
  return receiptOf(batch, { inboxId, sessionId: id, sessionKey }, facts);
}

function assertGroupHasPlace(db: Database, { name, max }: InboxGroup): void {
  if (max !== undefined && countGroup(db, name) >= max) throw groupFull({ name, max });
}

function makeRoom(db: Database, sessionId: string, limit: QueueLimit): Room {
  const { dropped, carries, heir } = planRoom(sessionId, queuedMessages(db, sessionId), limit);
  for (const inboxId of dropped)
    db.run("UPDATE inbox SET state = 'dropped', detail = ? WHERE id = ?", DROPPED_DETAIL, inboxId);
  if (heir !== undefined)
    db.run('UPDATE inbox SET carries = ? WHERE id = ?', JSON.stringify(heir.carries), heir.inboxId);
  return { dropped, carries };
}

function receiptOf(
  batch: Batch,
  { inboxId, sessionId, sessionKey }: Pick<InboxItem, 'inboxId' | 'sessionId' | 'sessionKey'>,
  facts: Pick<InboxReceipt, 'fresh' | 'dropped' | 'created'>,
): InboxReceipt {
  const held = liveLease(batch.db, sessionId, batch.self) !== undefined;
  return { inboxId, sessionId, sessionKey, held, ...facts };
}

function knownMessage(
  db: Database,
  { sessionKey, source, idempotencyKey }: InboundKey,
): KnownMessage | undefined {
  return db.row<KnownMessage>(
    'SELECT hash, inbox_id FROM inbound_keys WHERE agent_id = ? AND source IN (?, ?) AND key IN (?, ?)',
    keyOwner(sessionKey),
    ...keptForms(source),
    ...keptForms(idempotencyKey),
  );
}

export function knownItem(db: Database, key: InboundKey): InboxItem | undefined {
  const known = knownMessage(db, key);
  return known === undefined ? undefined : getItem(db, known.inbox_id);
}

/** Counts the attempt before the work starts, so that a crash loop ends. */
export function takeItem(
  batch: Batch,
  { id, epoch, orphans = false, inboxId }: TakeOptions & { readonly id: string },
): InboxItem | null {
  const row = heldSession(batch, id, epoch);
  const { db } = batch;
  const item =
    inboxId !== undefined
      ? acceptedItem(db, row.id, inboxId)
      : ((orphans ? oldestRunning(db, row.id) : null) ?? oldestAccepted(db, row.id));
  if (item === null) return null;
  db.run("UPDATE inbox SET state = 'running', attempts = attempts + 1 WHERE id = ?", item.inboxId);
  return getItem(db, item.inboxId);
}

/** Corrects the attempts of an item whose attempt could not begin, so that it does not count as a crash. */
export function recountItem(
  batch: Batch,
  { id, epoch, inboxId, attempts }: RecountOptions & { readonly id: string },
): void {
  const row = heldSession(batch, id, epoch);
  batch.db.run(
    "UPDATE inbox SET attempts = ? WHERE id = ? AND session_id = ? AND state = 'running'",
    attempts,
    inboxId,
    row.id,
  );
}

/** Refuses if the epoch is not that of the current lease. */
function heldSession(batch: Batch, id: string, epoch: number): SessionRow {
  const row = batch.session(id);
  const lease = batch.db.row<{ epoch: number }>('SELECT epoch FROM leases WHERE session_id = ?', row.id);
  if (lease?.epoch !== epoch || row.epoch !== epoch) throw epochOver(row, epoch);
  return row;
}

/** Settles an item. A final state stays: the first settlement wins. */
export function settleItem({ db }: Batch, { inboxId, state, detail }: Settlement): void {
  const item = getItem(db, inboxId);
  if (!OPEN_STATES.has(item.state)) return;
  const text = detail === undefined ? null : JSON.stringify(detail);
  db.run(
    "UPDATE inbox SET state = ?1, detail = ?2, attempts = iif(?1 = 'waiting', 0, attempts) WHERE id = ?3",
    state,
    text,
    inboxId,
  );
}
