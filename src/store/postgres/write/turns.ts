import { keyText } from '../../port/key-text.ts';
import type { AppendReceipt } from '../../port/store.ts';
import type { ChangedRows, TurnPlan } from '../../port/turns.ts';
import type { KnownKey } from '../../rules/append-rule.ts';
import { epochOver } from '../../rules/refusals.ts';
import { recordOf } from '../../rules/session-state.ts';
import {
  areSeen,
  type EndFacts,
  hasBegun,
  mergedInto,
  settledAs,
  type TurnStart,
  turnRows,
} from '../../rules/turn-rule.ts';
import { DEFAULT_LEASE_TTL_MS } from '../../shared/store-lease.ts';
import type { Tx } from '../connection/tx.ts';
import { lockSession, type SessionRow } from '../rows.ts';
import { isActiveSession } from './active.ts';
import { append } from './append.ts';
import { settleRows } from './inbox.ts';
import { findItems, lockOpen, oldestAccepted, runRow } from './inbox-rows.ts';
import { acquireLease, isHolder, MIN_LOCK_MS, ownEpoch } from './leases.ts';

interface BeginRequest extends TurnPlan {
  readonly id: string;
}

/** Takes two round trips: everything that is compared is asked for at once, and the answer of the commit. */
export async function beginTurn(tx: Tx, request: BeginRequest): Promise<TurnStart | ChangedRows> {
  const { id, turnId, openRows, lead: leadId, inputs, lease } = request;
  // A node that is frozen inside a transaction keeps the row locked.
  tx.run(`SET LOCAL lock_timeout = ${MIN_LOCK_MS}`);
  const inputIds = inputs.map(({ inboxId }) => inboxId);
  // Sent together. The first statement locks the session, and a sender that adds a message waits for that lock, so the
  // others see all messages before this transaction.
  const [row, open, keys, isActive, epochNow] = await Promise.all([
    lockSession(tx, id),
    lockOpen(tx, id),
    knownKeys(tx, id, inputIds),
    isActiveSession(tx, id),
    ownEpoch(tx, id),
  ]);
  const rows = turnRows(open.map(({ item }) => item));
  const found = open.find(({ item }) => item.inboxId === leadId);
  const isAgain =
    found !== undefined &&
    hasBegun(request, { ...found.item, turnId: found.turnId }) &&
    epochNow === row.epoch;
  if (!isAgain) {
    if (!areSeen(rows, openRows)) return { openRows: rows };
    if ('epoch' in lease) {
      if (!isHolder(row, lease.epoch)) throw epochOver(row, lease.epoch);
    } else await acquireLease(tx, { id, ttlMs: lease.ttlMs ?? DEFAULT_LEASE_TTL_MS, lockMs: MIN_LOCK_MS });
    // Counts the attempt before the work starts, so that a crash loop ends.
    runRow(tx, { inboxId: leadId, turnId });
  }
  const item = rows.find(({ inboxId }) => inboxId === leadId);
  if (item === undefined) return { openRows: rows };
  const { epoch } = row;
  const receipts: AppendReceipt[] = [];
  for (const { inboxId, entries } of inputs) {
    const known = keys.get(keyText(inboxId));
    const { receipt } = await append(tx, { id, entries, key: inboxId, epoch }, { row, known });
    receipts.push(receipt);
    if (inboxId !== leadId) await settleRows(tx, [mergedInto(inboxId, leadId)]);
  }
  const lead = isAgain ? item : { ...item, state: 'running' as const, attempts: item.attempts + 1 };
  return { epoch, record: recordOf(row, isActive), lead, receipts };
}

async function knownKeys(
  tx: Tx,
  id: string,
  keys: readonly string[],
): Promise<ReadonlyMap<string, KnownKey>> {
  if (keys.length === 0) return new Map();
  const rows = await tx.query<KnownKey & { readonly key: string }>(
    `SELECT key, hash, first_seq, last_seq FROM reprise.append_keys WHERE session_id = $1 AND key = ANY($2)`,
    [id, keys.map(keyText)],
  );
  return new Map(rows.map((row) => [row.key, row]));
}

/** After the rows are settled: how they ended, and whether the lease could be released with them. */
export async function endFacts(
  tx: Tx,
  row: SessionRow,
  {
    epoch,
    inboxIds,
    release,
  }: { readonly epoch: number; readonly inboxIds: readonly string[]; readonly release: boolean },
): Promise<EndFacts> {
  const [items, waiting] = await Promise.all([
    findItems(tx, inboxIds),
    release ? oldestAccepted(tx, row.id) : null,
  ]);
  const released = release && waiting === null && isHolder(row, epoch);
  if (released) {
    row.lease_epoch = 0;
    tx.touch(row);
    tx.run('DELETE FROM reprise.leases WHERE session_id = $1 AND epoch = $2', [row.id, epoch]);
  }
  return { rows: items.map(settledAs), released };
}
