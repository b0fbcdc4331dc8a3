import { failure } from '../../messages/failure.ts';
import { quoted } from '../../messages/quoted.ts';
import type { AppendReceipt, NewEntry } from '../port/store.ts';
import { assertOpen } from './refusals.ts';
import { bodyHash } from './seal-entries.ts';
import type { SessionState } from './session-state.ts';

export interface AppendRequest {
  readonly id: string;
  readonly entries: readonly NewEntry[];
  /**
   * Without a key the caller cannot retry; only the writer can then find out whether a commit with a lost answer
   * happened.
   */
  readonly key?: string;
  readonly epoch?: number;
  readonly expectedLeaf?: string | null;
}

/** The stored result of an append under its key. */
export interface KnownKey {
  readonly hash: string;
  readonly first_seq: number;
  readonly last_seq: number;
}

export function keyHash({ key, entries }: AppendRequest): string {
  return key === undefined ? '' : bodyHash(entries);
}

/*
 * Every store checks key, tombstone, epoch and leaf in this order, so that a retry of a successful append returns its
 * seqs, whatever that append or a new lease holder has changed since (P2). Nothing is changed before all checks pass.
 */

/** The receipt of the first call; `undefined` if the key is new. */
export function knownReceipt(
  known: KnownKey | undefined,
  key: string | undefined,
  hash: string,
): AppendReceipt | undefined {
  if (known === undefined) return undefined;
  if (known.hash === hash) return { firstSeq: known.first_seq, lastSeq: known.last_seq };
  throw failure('KEY_REUSED', 'session.appendKeyReused', { key: quoted(key ?? '') }, { details: { key } });
}

export function assertAppendable(row: Pick<SessionState, 'id' | 'status' | 'corrupt_at'>): void {
  assertOpen(row);
  const { id, corrupt_at: offset } = row;
  if (offset === null) return;
  throw failure('STORE_CORRUPT', 'session.damaged', { id, offset }, { details: { id, offset } });
}

export function assertLeaf(
  { id, leaf }: Pick<SessionState, 'id' | 'leaf'>,
  expected: string | null | undefined,
): void {
  if (expected !== undefined && expected !== leaf)
    throw failure('LEAF_MOVED', 'session.leafMoved', { id }, { details: { expected, leaf } });
}
