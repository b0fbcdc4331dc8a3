import { RepriseError } from '../../errors.ts';
import { encodeStorable } from '../../transcript/line.ts';
import { keyText } from '../common/key-text.ts';
import { bodyHash, movesLeaf } from '../common/seal-entries.ts';
import type { AppendReceipt, NewEntry } from '../store.ts';
import { isHolder, liveLease } from './leases.ts';
import type { SessionRow } from './rows.ts';
import type { Tx } from './tx.ts';
import { writeEntries } from './write-entries.ts';

export interface AppendRequest {
  readonly id: string;
  readonly entries: readonly NewEntry[];
  readonly key?: string;
  readonly epoch?: number;
  readonly expectedLeaf?: string | null;
}

export interface KnownKey {
  readonly hash: string;
  readonly first_seq: number;
  readonly last_seq: number;
}

/** What was found under the lock of the session. */
export interface AppendScene {
  readonly row: SessionRow;
  readonly known: KnownKey | undefined;
}

export interface AppendResult {
  readonly receipt: AppendReceipt;
  /** Of the body, where there is a key. */
  readonly hash: string;
  /** Written now, or answered from the key. */
  readonly isFresh: boolean;
}

/**
 * Key, tombstone, epoch, leaf: in this order, so that a retry of an append that landed is answered with its
 * seqs whatever its own success or a takeover has changed since (P2). Nothing is touched before all checks pass.
 */
export async function append(tx: Tx, request: AppendRequest, scene: AppendScene): Promise<AppendResult> {
  const { id, entries, key, expectedLeaf } = request;
  const { row, known } = scene;
  const hash = key === undefined ? '' : bodyHash(entries);
  if (known !== undefined) {
    if (known.hash === hash)
      return { receipt: { firstSeq: known.first_seq, lastSeq: known.last_seq }, hash, isFresh: false };
    throw new RepriseError('KEY_REUSED', `key ${key} was used with another body`, { details: { key } });
  }
  if (row.status === 'deleted')
    throw new RepriseError('SESSION_DELETED', `session ${id} is in the trash`, { details: { id } });
  if (row.corrupt_at !== null) {
    throw new RepriseError('STORE_CORRUPT', `session ${id} is damaged at byte ${row.corrupt_at}`, {
      details: { id, offset: row.corrupt_at, next: `Run: reprise repair ${id}` },
    });
  }
  await checkEpoch(tx, request, row);
  if (expectedLeaf !== undefined && expectedLeaf !== row.leaf) {
    const details = { expected: expectedLeaf, leaf: row.leaf };
    throw new RepriseError('LEAF_MOVED', `session ${id} moved on`, { details });
  }
  // `checkEntries` has looked at these very entries.
  const keyed = key === undefined ? {} : { k: key, h: hash };
  const receipt = await writeEntries(tx, row, entries, { ...keyed, encode: encodeStorable });
  if (key !== undefined) {
    tx.run(
      `INSERT INTO reprise.append_keys (session_id, key, hash, first_seq, last_seq) VALUES ($1, $2, $3, $4, $5)`,
      [id, keyText(key), hash, receipt.firstSeq, receipt.lastSeq],
    );
  }
  return { receipt, hash, isFresh: true };
}

async function checkEpoch(tx: Tx, { id, entries, epoch }: AppendRequest, row: SessionRow): Promise<void> {
  if (epoch !== undefined) {
    if (isHolder(row, epoch)) return;
    throw new RepriseError('FENCED', `epoch ${epoch} of session ${id} is over`, {
      details: { epoch: row.epoch },
    });
  }
  const held = movesLeaf(entries) ? await liveLease(tx, id) : undefined;
  if (held === undefined) return;
  throw new RepriseError('LEASE_HELD', `another runner holds session ${id}`, {
    details: { holder: held.holder },
  });
}
