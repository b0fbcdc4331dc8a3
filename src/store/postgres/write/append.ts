import { encodeStorable } from '../../../transcript/line.ts';
import { keyText } from '../../port/key-text.ts';
import type { AppendReceipt, NewEntry } from '../../port/store.ts';
import {
  type AppendRequest,
  assertAppendable,
  assertLeaf,
  type KnownKey,
  keyHash,
  knownReceipt,
} from '../../rules/append-rule.ts';
import { epochOver, runnerHolds } from '../../rules/refusals.ts';
import { bodyHash, movesLeaf } from '../../rules/seal-entries.ts';
import type { Tx } from '../connection/tx.ts';
import type { SessionRow } from '../rows.ts';
import { isHolder, liveLease } from './leases.ts';
import { type WriteOptions, writeEntries } from './write-entries.ts';

/** The rows found under the lock of the session. */
export interface AppendScene {
  readonly row: SessionRow;
  readonly known: KnownKey | undefined;
}

export interface AppendResult {
  readonly receipt: AppendReceipt;
  /** Hash of the body, if the request has a key. */
  readonly hash: string;
  /** False if the receipt comes from a known key. */
  readonly isFresh: boolean;
}

/** Checks in the order of every store: key, tombstone, epoch, leaf. */
export async function append(tx: Tx, request: AppendRequest, scene: AppendScene): Promise<AppendResult> {
  const { entries, key, expectedLeaf } = request;
  const { row } = scene;
  const hash = keyHash(request);
  const known = knownReceipt(scene.known, key, hash);
  if (known !== undefined) return { receipt: known, hash, isFresh: false };
  assertAppendable(row);
  await checkEpoch(tx, request, row);
  assertLeaf(row, expectedLeaf);
  // `checkEntries` has already checked these entries.
  const how = { encode: encodeStorable };
  const receipt =
    key === undefined
      ? await writeEntries(tx, row, entries, how)
      : await writeKeyed(tx, row, entries, { key, ...how });
  return { receipt, hash, isFresh: true };
}

/** Writes entries under a new key, so that a retry with the key is recognized. */
export async function writeKeyed(
  tx: Tx,
  row: SessionRow,
  entries: readonly NewEntry[],
  { key, ...how }: Pick<WriteOptions, 'encode'> & { readonly key: string },
): Promise<AppendReceipt> {
  const hash = bodyHash(entries);
  const receipt = await writeEntries(tx, row, entries, { ...how, k: key, h: hash });
  tx.run(
    `INSERT INTO reprise.append_keys (session_id, key, hash, first_seq, last_seq) VALUES ($1, $2, $3, $4, $5)`,
    [row.id, keyText(key), hash, receipt.firstSeq, receipt.lastSeq],
  );
  return receipt;
}

/** Call it while the session is locked. */
export async function isKnownKey(tx: Tx, { id }: SessionRow, key: string): Promise<boolean> {
  const known = await tx.query('SELECT 1 FROM reprise.append_keys WHERE session_id = $1 AND key = $2', [
    id,
    keyText(key),
  ]);
  return known.length > 0;
}

async function checkEpoch(tx: Tx, { id, entries, epoch }: AppendRequest, row: SessionRow): Promise<void> {
  if (epoch !== undefined) {
    if (isHolder(row, epoch)) return;
    throw epochOver(row, epoch);
  }
  const held = movesLeaf(entries) ? await liveLease(tx, id) : undefined;
  if (held !== undefined) throw runnerHolds(id, held);
}
