import { failure } from '../../messages/failure.ts';
import { quoted } from '../../messages/quoted.ts';
import type { AppendReceipt, NewEntry } from '../port/store.ts';
import { assertOpen } from './refusals.ts';
import { bodyHash } from './seal-entries.ts';
import type { SessionState } from './session-state.ts';

export interface AppendRequest {
  readonly id: string;
  readonly entries: readonly NewEntry[];
  /** Without one nobody can ask again; a commit whose answer was lost is then resolved by the writer alone. */
  readonly key?: string;
  readonly epoch?: number;
  readonly expectedLeaf?: string | null;
}

/** What is remembered of an append under its key. */
export interface KnownKey {
  readonly hash: string;
  readonly first_seq: number;
  readonly last_seq: number;
}

export function keyHash({ key, entries }: AppendRequest): string {
  return key === undefined ? '' : bodyHash(entries);
}

/*
 * Key, tombstone, epoch, leaf: every store asks in this order, so that a retry of an append that landed is answered with
 * its seqs whatever its own success or a takeover has changed since (P2). Nothing is touched before all checks pass.
 */

/** What was answered the first time; undefined where this is the first time. */
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
