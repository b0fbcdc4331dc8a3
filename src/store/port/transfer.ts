import type { StoredConvlogLine } from './convlog.ts';
import type { InboxItem } from './inbox.ts';

/**
 * Reads and writes everything in a store as records that any other store accepts: for migrations and backups. The
 * copy is exact: lines keep their bytes, numbers and seals, so `exportSession` returns the same on both sides.
 *
 * The order of records is fixed so that a store can be copied while others write to it. A record that references
 * another one comes before it: first messages, then the sessions of keys, then each session with its blobs before its
 * lines, then channel logs, then the ids of purged sessions. Therefore the copy may have an older state of a message
 * than the transcript has (running the message again repairs that), but never a newer one. Each session is copied up
 * to the last append that was committed when its copy began.
 *
 * Leases are not copied. A `running` message is still `running` in the copy, but has no runner. The next holder of
 * its session's lease treats it like a message that was running during a crash.
 */
export interface Transfer {
  /** Reads about 1 MB of records after a cursor; without a cursor, from the start. */
  read(cursor?: string): Promise<TransferPage>;
  /**
   * Writes records and the progress of the copy run in one transaction. Accepts records of one run only, and only if
   * the store was empty when the run began. All other writes are refused until the run is finished. Writing the same
   * records again changes nothing; of overlapping records only the new ones are written.
   */
  write(records: readonly TransferRecord[], note: TransferNote): Promise<void>;
  /**
   * Ends the copy run and opens the store for use. Epochs continue far above all copied ones, so no old lease holder
   * can write. With `hold`, queued messages do not run until `release` is called: the source store may still exist
   * and run them, or the copy may come from another person who put messages into it.
   */
  finish(run: string, options?: FinishOptions): Promise<void>;
  /** Messages held until `release`, oldest first. */
  held(): Promise<readonly InboxItem[]>;
  /** Releases or cancels held messages. @returns how many there were. */
  release(options?: ReleaseHeldOptions): Promise<number>;
  state(): Promise<TransferState>;
}

export interface FinishOptions {
  readonly hold?: boolean;
}

export interface ReleaseHeldOptions {
  /** Held messages end as `cancelled` with the reason `restored`. */
  readonly cancel?: boolean;
}

export interface TransferPage {
  readonly records: readonly TransferRecord[];
  /** The cursor of the next page; null after the last page. */
  readonly cursor: string | null;
}

export interface TransferNote {
  /** Text that identifies the copy run. */
  readonly run: string;
  /** The source's cursor after these records. */
  readonly cursor: string | null;
}

export interface TransferState {
  /** True if nothing was ever written to this store. */
  readonly empty: boolean;
  /** The copy run that was started in this store. */
  readonly run?: TransferNote & { readonly finished: boolean };
}

export type TransferRecord =
  | EpochRecord
  | ItemRecord
  | InboundRecord
  | KeyRecord
  | SessionCopy
  | BlobRecord
  | LinesRecord
  | ConvlogRecord
  | PurgedRecord
  | DamageRecord;

/** Comes first. No epoch in the source store is higher. */
export interface EpochRecord {
  readonly kind: 'epoch';
  readonly epoch: number;
}

/** A message in any state. Messages come in the order of acceptance. */
export interface ItemRecord {
  readonly kind: 'item';
  readonly item: InboxItem;
}

/** An idempotency key of an accepted message. Keys are kept permanently. */
export interface InboundRecord {
  readonly kind: 'inbound';
  /** Empty for keys without an agent. */
  readonly agentId: string;
  /** Both are JSON, or `sha256:` and the hash of the JSON if it is long. */
  readonly source: string;
  readonly key: string;
  readonly hash: string;
  readonly inboxId: string;
}

/** The session that a key points to (or null), and how often the key was moved. */
export interface KeyRecord {
  readonly kind: 'key';
  readonly key: string;
  readonly sessionId: string | null;
  readonly counter: number;
}

/** The facts about a session that its lines do not contain. Its blobs and lines follow. */
export interface SessionCopy {
  readonly kind: 'session';
  readonly id: string;
  readonly agentId: string;
  readonly key: string;
  readonly parentId?: string;
  readonly createdAt: string;
  readonly epoch: number;
  /** The last seq of the lines that follow. */
  readonly lastSeq: number;
  readonly corruptAt?: number;
}

export interface BlobRecord {
  readonly kind: 'blob';
  readonly session: string;
  /** SHA-256 of the bytes, in hex. */
  readonly hash: string;
  readonly bytes: Uint8Array;
}

/** Whole lines with consecutive seqs, each with its LF. */
export interface LinesRecord {
  readonly kind: 'lines';
  readonly session: string;
  readonly first: number;
  readonly bytes: Uint8Array;
}

export interface ConvlogRecord {
  readonly kind: 'convlog';
  readonly line: StoredConvlogLine;
}

/** Comes last: the target removes all copied data of this id. Ids that differ only in case are the same id. */
export interface PurgedRecord {
  readonly kind: 'purged';
  readonly id: string;
}

/** Describes data that could not be read. For reports; the target writes nothing. */
export interface DamageRecord {
  readonly kind: 'damage';
  readonly session: string;
  readonly detail: string;
}
