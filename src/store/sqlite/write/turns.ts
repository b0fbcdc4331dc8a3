import type { AppendReceipt } from '../../port/store.ts';
import type { ChangedRows, TurnPlan } from '../../port/turns.ts';
import { epochOver } from '../../rules/refusals.ts';
import {
  areSeen,
  type EndReceipt,
  hasBegun,
  mergedInto,
  settledAs,
  type TurnStart,
  turnRows,
} from '../../rules/turn-rule.ts';
import { DEFAULT_LEASE_TTL_MS } from '../../shared/store-lease.ts';
import { toRecord } from '../session-row.ts';
import { append } from './append.ts';
import { type AppendAndTellRequest, appendAndTell } from './append-and-tell.ts';
import type { Batch } from './batch.ts';
import { settleItem } from './inbox.ts';
import { getItem, pendingItems } from './inbox-rows.ts';
import { acquireLease, isOwnLease, releaseLease } from './leases.ts';

interface BeginRequest extends TurnPlan {
  readonly id: string;
}

/** All of it or nothing: a refused input leaves no lease and no running row. */
export function beginTurn(batch: Batch, request: BeginRequest): TurnStart | ChangedRows {
  return batch.attempt(() => begin(batch, request));
}

function begin(batch: Batch, request: BeginRequest): TurnStart | ChangedRows {
  const { id, turnId, openRows, lead, inputs, lease } = request;
  const { db } = batch;
  const row = batch.session(id);
  const known = db.row<{ turnId: string | null; state: string }>(
    'SELECT turn_id AS turnId, state FROM inbox WHERE id = ? AND session_id = ?',
    lead,
    id,
  );
  const isAgain =
    known !== undefined && hasBegun(request, known) && isOwnLease(batch, { id, epoch: row.epoch });
  if (!isAgain) {
    const rows = turnRows(pendingItems(db, { sessionId: id }));
    if (!areSeen(rows, openRows)) return { openRows: rows };
    if ('epoch' in lease) {
      if (lease.epoch !== row.epoch || !isOwnLease(batch, { id, epoch: lease.epoch }))
        throw epochOver(row, lease.epoch);
    } else acquireLease(batch, { id, ttlMs: lease.ttlMs ?? DEFAULT_LEASE_TTL_MS });
    // Counts the attempt before the work starts, so that a crash loop ends.
    db.run(
      "UPDATE inbox SET state = 'running', attempts = attempts + 1, turn_id = ? WHERE id = ?",
      turnId,
      lead,
    );
  }
  const { epoch } = row;
  const receipts: AppendReceipt[] = [];
  for (const { inboxId, entries } of inputs) {
    receipts.push(append(batch, { id, entries, key: inboxId, epoch }));
    if (inboxId !== lead) settleItem(batch, mergedInto(inboxId, lead));
  }
  return { epoch, record: toRecord(db, row), lead: getItem(db, lead), receipts };
}

export interface EndRequest extends AppendAndTellRequest {
  readonly epoch: number;
  readonly release: boolean;
}

export function endTurn(batch: Batch, request: EndRequest): EndReceipt {
  const { id, epoch, settle = [], release } = request;
  const receipt = appendAndTell(batch, request);
  const rows = settle.map(({ inboxId }) => settledAs(getItem(batch.db, inboxId)));
  const released = release && releaseLease(batch, { id, epoch }) === null;
  return { ...receipt, rows, released };
}
