import { RepriseError } from '../../errors.ts';
import { type encodeLine, encodeStorable } from '../../transcript/line.ts';
import { bodyHash, movesLeaf, sealEntries } from '../common/seal-entries.ts';
import type { ConvlogLine } from '../convlog.ts';
import type { AppendReceipt, NewEntry } from '../store.ts';
import type { Batch } from './batch.ts';
import { writeLog } from './convlog-rows.ts';
import { liveLease } from './leases.ts';
import { type SessionRow, seqFinder } from './session-row.ts';

export interface AppendRequest {
  readonly id: string;
  readonly entries: readonly NewEntry[];
  /** Without one nobody can ask again; a commit whose answer was lost is then resolved by the writer alone. */
  readonly key?: string;
  readonly epoch?: number;
  readonly expectedLeaf?: string | null;
  readonly log?: readonly ConvlogLine[];
}

/**
 * Key, tombstone, epoch, leaf: in this order, so that a retry of an append that landed is answered with its
 * seqs whatever its own success or a takeover has changed since (P2). Nothing is touched before all checks pass.
 */
export function append(batch: Batch, request: AppendRequest): AppendReceipt {
  const { id, entries, key, expectedLeaf, log = [] } = request;
  if (entries.length === 0) throw new RepriseError('INVALID_INPUT', 'an append has at least one entry');
  const row = batch.session(id);
  const hash = key === undefined ? '' : bodyHash(entries);
  const known = key === undefined ? undefined : batch.knownKey(id, key);
  if (known !== undefined) {
    if (known.hash === hash) return { firstSeq: known.first_seq, lastSeq: known.last_seq };
    throw new RepriseError('KEY_REUSED', `key ${key} was used with another body`, { details: { key } });
  }
  if (row.status === 'deleted')
    throw new RepriseError('SESSION_DELETED', `session ${id} is in the trash`, { details: { id } });
  if (row.corrupt_at !== null) {
    throw new RepriseError('STORE_CORRUPT', `session ${id} is damaged at byte ${row.corrupt_at}`, {
      details: { id, offset: row.corrupt_at, next: `Run: reprise repair ${id}` },
    });
  }
  batch.assertWritable(row);
  checkEpoch(batch, row, request);
  if (expectedLeaf !== undefined && expectedLeaf !== row.leaf) {
    const details = { expected: expectedLeaf, leaf: row.leaf };
    throw new RepriseError('LEAF_MOVED', `session ${id} moved on`, { details });
  }
  // The other side of the thread has looked at these very entries.
  const keyed = key === undefined ? {} : { k: key, h: hash };
  const receipt = writeEntries(batch, row, entries, { ...keyed, encode: encodeStorable });
  // Behind everything that could be refused.
  writeLog(
    batch,
    log.map((line) => ({ sessionId: id, ...line })),
  );
  if (key !== undefined)
    batch.rememberKey(id, { key, hash, first_seq: receipt.firstSeq, last_seq: receipt.lastSeq });
  return receipt;
}

/** Whether the epoch it was given, if any, is that of the lease. */
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
    throw new RepriseError('FENCED', `epoch ${epoch} of session ${row.id} is over`, {
      details: { epoch: row.epoch },
    });
  }
  // Side entries are always welcome: they never move what a running turn builds on.
  if (!movesLeaf(entries)) return;
  const lease = liveLease(db, row.id, self);
  if (lease !== undefined) {
    const details = { holder: lease.holder };
    throw new RepriseError('LEASE_HELD', `another runner holds session ${row.id}`, { details });
  }
  // With an epoch a turn goes on, and may end on what is left; without one something new begins.
  space?.assertRoom();
}

interface WriteOptions {
  readonly k?: string;
  readonly h?: string;
  readonly encode?: typeof encodeLine;
}

/** Seals and numbers entries inside the batch. No gap can appear (I-3): the number is taken under the write lock. */
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
  // Everything that could be refused has been: only the disk can still say no, and only then does the batch change.
  batch.blobs.keep(row, blobs);
  Object.assign(row, draft);
  batch.addLines(row, firstSeq, lines);
  return { firstSeq, lastSeq: row.seq };
}
