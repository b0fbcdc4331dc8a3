import { failure } from '../../../messages/failure.ts';
import { quoted } from '../../../messages/quoted.ts';
import type {
  InboundKey,
  InboxItem,
  InboxReceipt,
  QueueLimit,
  RecountOptions,
  Settlement,
  TakeOptions,
} from '../../port/inbox.ts';
import { keyText } from '../../port/key-text.ts';
import {
  groupFull,
  inboundHash,
  keyOwner,
  keyReused,
  type ReceiveRequest,
  sessionBusy,
} from '../../rules/inbound.ts';
import { DROPPED_DETAIL, planRoom, type Room } from '../../rules/queue-cap.ts';
import { epochOver, type LiveLease } from '../../rules/refusals.ts';
import type { Sql } from '../connection/connections.ts';
import type { Tx } from '../connection/tx.ts';
import { lockSession } from '../rows.ts';
import { type LockedKey, lockActive } from './active.ts';
import { writeLog } from './convlog-rows.ts';
import {
  countGroup,
  findItem,
  getItem,
  hasOpenItem,
  insertItem,
  queuedMessages,
  setAttempts,
  setCarries,
  settleItems,
  takeOldest,
  takeOne,
} from './inbox-rows.ts';
import { recipientOf } from './inbox-session.ts';
import { isHolder, liveLease, seenLease } from './leases.ts';

/**
 * Accepts a message in the caller's transaction, from its idempotency key to its row; it is accepted only when that
 * commits (P6). The key is claimed first, by inserting it: a second node with the same message waits there and holds
 * nothing else of it (I-64). All statements are sent at once and run by the server in this order, so a message takes
 * two round trips: this one and the commit. A message that turns out to be known has locked its group, key and
 * session needlessly; the answer releases them.
 */
export async function receive(tx: Tx, request: ReceiveRequest): Promise<InboxReceipt> {
  const { inboxId, sessionKey, class: kind = 'message', queue, group, body, log } = request;
  const limit = kind === 'message' ? queue : undefined;
  const claimed = claimKey(tx, request);
  const counted = group?.max === undefined ? 0 : countGroup(tx, group.name);
  const asked = request.sessionId === undefined ? askForKey(tx, sessionKey, limit) : undefined;
  const known = await beside(claimed, counted, asked);
  if (known !== undefined) return receiptOf(tx, known, { fresh: false, dropped: [] });
  if (group?.max !== undefined && (await counted) >= group.max) throw groupFull(group);
  // The session's row is locked from here on, so a holder cannot release the lease without seeing this message
  // (I-65).
  const scene = await asked;
  const { id, created } = await recipientOf(tx, request, scene);
  if (request.ifIdle === true && (await hasOpenItem(tx, id))) throw sessionBusy(id);
  const queued = scene?.current?.id === id ? scene.queued : undefined;
  const { dropped, carries } =
    limit === undefined ? NO_ROOM : await makeRoom(tx, id, limit, queued ?? (await queuedMessages(tx, id)));
  insertItem(tx, {
    inboxId,
    sessionId: id,
    sessionKey,
    state: kind === 'command' ? 'running' : 'accepted',
    class: kind,
    ...(group !== undefined && { group: group.name }),
    body,
    createdAt: tx.now(),
    ...(carries.length > 0 && { carries }),
  });
  if (log !== undefined) await writeLog(tx, [{ ...log, sessionId: id }]);
  const facts = { fresh: true, dropped, ...(created !== undefined && { created }) };
  if (scene?.current?.id === id)
    return { inboxId, sessionId: id, sessionKey, held: scene.lease !== undefined, ...facts };
  return receiptOf(tx, { inboxId, sessionId: id, sessionKey }, facts);
}

/**
 * Waits for all statements even if the first one refuses: none of them may take effect after the attempt was rolled
 * back.
 */
async function beside<T>(first: Promise<T>, ...others: readonly unknown[]): Promise<T> {
  const settled = Promise.allSettled(others);
  try {
    return await first;
  } finally {
    await settled;
  }
}

interface KeyScene extends LockedKey {
  /** The holder of the key's session. */
  readonly lease: LiveLease | undefined;
  readonly queued: readonly InboxItem[] | undefined;
}

async function askForKey(tx: Tx, sessionKey: string, limit: QueueLimit | undefined): Promise<KeyScene> {
  const [locked, lease, queued] = await Promise.all([
    lockActive(tx, sessionKey),
    seenLease(tx, tx.self, { key: sessionKey }),
    limit === undefined ? undefined : queuedMessages(tx, { key: sessionKey }),
  ]);
  return { ...locked, lease, queued };
}

const NO_ROOM: Room = { dropped: [], carries: [] };

/** The item that this message received the first time; `undefined` if it is new. */
async function claimKey(tx: Tx, request: ReceiveRequest): Promise<InboxItem | undefined> {
  const { sessionKey, source, idempotencyKey, inboxId } = request;
  if (idempotencyKey === undefined) return undefined;
  const key = { sessionKey, source, idempotencyKey };
  const hash = inboundHash(request);
  const claimed = await tx.query(
    `INSERT INTO reprise.inbound_keys (agent_id, source, key, hash, inbox_id) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT DO NOTHING RETURNING inbox_id`,
    [...keyValues(key), hash, inboxId],
  );
  if (claimed.length > 0) return undefined;
  const known = await findKey(tx, key);
  // Key rows are never removed, so the first one must exist.
  if (known === undefined)
    throw failure('STORE_FAILED', 'postgres.keyVanished', { key: quoted(idempotencyKey) });
  if (known.hash !== hash) throw keyReused(idempotencyKey);
  return getItem(tx, known.inbox_id);
}

const keyValues = ({ sessionKey, source, idempotencyKey }: InboundKey): [string, string, string] => [
  keyOwner(sessionKey),
  keyText(source),
  keyText(idempotencyKey),
];

interface KnownKey {
  readonly hash: string;
  readonly inbox_id: string;
}

async function findKey(sql: Sql, key: InboundKey): Promise<KnownKey | undefined> {
  const [row] = await sql.query<KnownKey>(
    'SELECT hash, inbox_id FROM reprise.inbound_keys WHERE agent_id = $1 AND source = $2 AND key = $3',
    keyValues(key),
  );
  return row;
}

export async function knownItem(sql: Sql, key: InboundKey): Promise<InboxItem | undefined> {
  const known = await findKey(sql, key);
  return known === undefined ? undefined : ((await findItem(sql, known.inbox_id)) ?? undefined);
}

async function makeRoom(
  tx: Tx,
  sessionId: string,
  limit: QueueLimit,
  queued: readonly InboxItem[],
): Promise<Room> {
  const { dropped, carries, heir } = planRoom(sessionId, queued, limit);
  if (dropped.length > 0)
    await settleItems(
      tx,
      dropped.map((id) => ({ id, state: 'dropped', detail: DROPPED_DETAIL })),
    );
  if (heir !== undefined) setCarries(tx, heir.inboxId, heir.carries);
  return { dropped, carries };
}

async function receiptOf(
  tx: Tx,
  { inboxId, sessionId, sessionKey }: Pick<InboxItem, 'inboxId' | 'sessionId' | 'sessionKey'>,
  facts: Pick<InboxReceipt, 'fresh' | 'dropped' | 'created'>,
): Promise<InboxReceipt> {
  const held = (await liveLease(tx, sessionId)) !== undefined;
  return { inboxId, sessionId, sessionKey, held, ...facts };
}

/** Takes an item under the session's lock, so that a new lease holder sees it completely or not at all. */
export async function takeItem(
  tx: Tx,
  { id, epoch, orphans = false, inboxId }: TakeOptions & { readonly id: string },
): Promise<InboxItem | null> {
  const row = await lockSession(tx, id);
  if (!isHolder(row, epoch)) throw epochOver(row, epoch);
  if (inboxId !== undefined) return takeOne(tx, row.id, inboxId);
  const orphan = orphans ? await takeOldest(tx, row.id, 'running') : null;
  return orphan ?? takeOldest(tx, row.id, 'accepted');
}

/** Corrects the attempts of an item whose attempt could not begin, so that it does not count as a crash. */
export async function recountItem(
  tx: Tx,
  { id, epoch, inboxId, attempts }: RecountOptions & { readonly id: string },
): Promise<void> {
  const row = await lockSession(tx, id);
  if (!isHolder(row, epoch)) throw epochOver(row, epoch);
  setAttempts(tx, row.id, { inboxId, attempts });
}

export async function settleRows(tx: Tx, settlements: readonly Settlement[]): Promise<void> {
  if (settlements.length === 0) return;
  await settleItems(
    tx,
    settlements.map(({ inboxId, state, detail }) => ({
      id: inboxId,
      state,
      detail: detail === undefined ? null : JSON.stringify(detail),
    })),
  );
}
