import { failure } from '../../../messages/failure.ts';
import type { JsonObject } from '../../../transcript/json.ts';
import { type encodeLine, encodeStorable } from '../../../transcript/line.ts';
import { writeLog } from '../../jsonl/channel-log/convlog-rows.ts';
import type { ConvlogLine } from '../../port/convlog.ts';
import type { AppendReceipt, NewEntry } from '../../port/store.ts';
import {
  type AppendRequest,
  assertAppendable,
  assertLeaf,
  keyHash,
  knownReceipt,
} from '../../rules/append-rule.ts';
import { epochOver, runnerHolds } from '../../rules/refusals.ts';
import { bodyHash, movesLeaf, sealEntries } from '../../rules/seal-entries.ts';
import { type SessionRow, seqFinder } from '../session-row.ts';
import type { Batch } from './batch.ts';
import { liveLease } from './leases.ts';
import { rememberSourceIds } from './sources.ts';

export interface LoggedAppend extends AppendRequest {
  readonly log?: readonly ConvlogLine[];
}

/** Checks in the order of every store: key, tombstone, epoch, leaf. */
export function append(batch: Batch, request: LoggedAppend): AppendReceipt {
  const { id, entries, key, expectedLeaf, log = [] } = request;
  if (entries.length === 0) throw failure('INVALID_INPUT', 'append.empty');
  const row = batch.session(id);
  const hash = keyHash(request);
  const known = knownReceipt(key === undefined ? undefined : batch.knownKey(id, key), key, hash);
  if (known !== undefined) return known;
  assertAppendable(row);
  batch.assertWritable(row);
  checkEpoch(batch, row, request);
  assertLeaf(row, expectedLeaf);
  // The main thread already checked these entries.
  const how = { encode: encodeStorable };
  const receipt =
    key === undefined
      ? writeEntries(batch, row, entries, how)
      : writeKeyed(batch, row, entries, { key, ...how });
  // Write the log after everything that can be refused.
  writeLog(
    batch,
    log.map((line) => ({ sessionId: id, ...line })),
  );
  return receipt;
}

/** Writes entries under a new key, so that a retry with the key is recognized. */
export function writeKeyed(
  batch: Batch,
  row: SessionRow,
  entries: readonly NewEntry[],
  { key, ...how }: Pick<WriteOptions, 'encode'> & { readonly key: string },
): AppendReceipt {
  const hash = bodyHash(entries);
  const receipt = writeEntries(batch, row, entries, { ...how, k: key, h: hash });
  batch.rememberKey(row.id, key, { hash, first_seq: receipt.firstSeq, last_seq: receipt.lastSeq });
  return receipt;
}

/** Whether the given epoch, if any, is that of the current lease. */
export function isHolder(batch: Batch, { id, epoch }: Pick<AppendRequest, 'id' | 'epoch'>): boolean {
  if (epoch === undefined) return true;
  const row = batch.session(id);
  const lease = batch.db.row<{ epoch: number }>('SELECT epoch FROM leases WHERE session_id = ?', row.id);
  return epoch === row.epoch && lease?.epoch === epoch;
}

function checkEpoch(batch: Batch, row: SessionRow, { entries, epoch }: AppendRequest): void {
  const { db, self, space } = batch;
  if (epoch !== undefined) {
    if (isHolder(batch, { id: row.id, epoch })) return;
    throw epochOver(row, epoch);
  }
  // Side entries are always allowed: they never move the leaf that a running turn builds on.
  if (!movesLeaf(entries)) return;
  const lease = liveLease(db, row.id, self);
  if (lease !== undefined) throw runnerHolds(row.id, lease);
  // With an epoch a turn continues and may end in the space that is left; without one, something new begins.
  space?.assertRoom();
}

interface WriteOptions {
  readonly k?: string;
  readonly h?: string;
  readonly encode?: typeof encodeLine;
}

/**
 * Seals and numbers entries inside the batch. The numbers have no gaps (I-3), because they are taken under the write
 * lock.
 */
export function writeEntries(
  batch: Batch,
  row: SessionRow,
  entries: readonly NewEntry[],
  options: WriteOptions = {},
): AppendReceipt {
  const draft = { ...row };
  const { lines, blobs } = sealEntries(draft, entries, {
    ...options,
    now: batch.now,
    seqOf: seqFinder(batch.db, draft),
    entryAt: (seq) => batch.entry(row, seq),
    hasBlob: (hash) => batch.blobs.get(row, hash) !== undefined,
    isTaken: (id) =>
      batch.db.row('SELECT 1 FROM foreign_lines WHERE session_id = ? AND entry_id = ?', row.id, id) !==
      undefined,
  });
  const firstSeq = row.seq + 1;
  // Everything that can be refused has been checked. Only the disk can still fail, so the batch changes now.
  batch.blobs.keep(row, blobs);
  Object.assign(row, draft);
  batch.addLines(row, firstSeq, lines);
  rememberSourceIds(batch.db, row, entries as readonly JsonObject[], firstSeq);
  return { firstSeq, lastSeq: row.seq };
}
