import type { StoredConvlogLine } from './convlog.ts';
import type { InboxItem } from './store.ts';

/**
 * Everything a store has, as records that any other store takes: for migrations and backups. What is copied is
 * exact: lines with their bytes, numbers and seals, so that `exportSession` answers the same on both sides.
 *
 * The order is fixed, and made for copying while others write. What points comes before what it points to: messages,
 * what keys stand for, then sessions with their blobs before their lines, then convlogs, then the ids that are gone.
 * So a copy may know an older state of a message than the transcript does, which running it again mends, and never
 * a newer one. Each session ends where it stood when it was begun, never within an append.
 *
 * Leases are not copied. A message that was running is running in the copy too, with nobody who runs it: whoever
 * takes its session next treats it as after a crash.
 */
export interface Transfer {
  /** The records behind a cursor, about a megabyte of them; from the start without one. */
  read(cursor?: string): Promise<TransferPage>;
  /**
   * Takes records in and notes how far the run is, in one step. Only of one run, and only into a store that was empty
   * when the run began; until it is finished every other write is refused. The same records again change nothing, and
   * of later ones only what is new is written.
   */
  write(records: readonly TransferRecord[], note: TransferNote): Promise<void>;
  /**
   * From now on the store can be used. Epochs continue far above all that were copied, so no old holder can write. With
   * `hold` no queued message runs until `release`: the store it was copied from may still exist and run it, or the copy
   * may come from another person, who wrote the message into it.
   */
  finish(run: string, options?: FinishOptions): Promise<void>;
  /** The messages that wait for `release`, oldest first. */
  held(): Promise<readonly InboxItem[]>;
  /** Lets held messages run, or cancels them. Answers with how many there were. */
  release(options?: ReleaseHeldOptions): Promise<number>;
  state(): Promise<TransferState>;
}

export interface FinishOptions {
  readonly hold?: boolean;
}

export interface ReleaseHeldOptions {
  /** They end as `cancelled`, with the reason `restored`. */
  readonly cancel?: boolean;
}

export interface TransferPage {
  readonly records: readonly TransferRecord[];
  /** Where the next page starts; null at the end. */
  readonly cursor: string | null;
}

export interface TransferNote {
  /** What is copied, in words that tell one run from another. */
  readonly run: string;
  /** Of the source, behind these records. */
  readonly cursor: string | null;
}

export interface TransferState {
  /** Whether nothing has ever been put here. */
  readonly empty: boolean;
  /** The copy that was begun here. */
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

/** Comes first: no epoch of the store is higher. */
export interface EpochRecord {
  readonly kind: 'epoch';
  readonly epoch: number;
}

/** A message in whatever state, in the order of acceptance. */
export interface ItemRecord {
  readonly kind: 'item';
  readonly item: InboxItem;
}

/** What makes a message unique, for good. */
export interface InboundRecord {
  readonly kind: 'inbound';
  /** Empty for keys without an agent. */
  readonly agentId: string;
  /** Both as JSON, or as `sha256:` of that where it is long. */
  readonly source: string;
  readonly key: string;
  readonly hash: string;
  readonly inboxId: string;
}

/** The session a key stands for, or none, and how often that has changed. */
export interface KeyRecord {
  readonly kind: 'key';
  readonly key: string;
  readonly sessionId: string | null;
  readonly counter: number;
}

/** What the lines of a session do not say. They and its blobs follow. */
export interface SessionCopy {
  readonly kind: 'session';
  readonly id: string;
  readonly agentId: string;
  readonly key: string;
  readonly parentId?: string;
  readonly createdAt: string;
  readonly epoch: number;
  /** Of the lines that follow. */
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

/** Comes last: whatever was copied of it before goes. In whatever case: ids that differ only in that are one. */
export interface PurgedRecord {
  readonly kind: 'purged';
  readonly id: string;
}

/** What could not be read, for people; nothing is written for it. */
export interface DamageRecord {
  readonly kind: 'damage';
  readonly session: string;
  readonly detail: string;
}
