import type { Entry, SessionHeader } from '../../transcript/entry.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type { Convlog, ConvlogLine } from './convlog.ts';
import type { Inbound, Inbox, InboxItem, Settlement } from './inbox.ts';
import type { LinePart, LineRange } from './line-part.ts';
import type { Notes } from './notes.ts';
import type { PurgeOptions, PurgeReceipt } from './purge.ts';
import type { SearchQuery, SearchResult } from './search.ts';
import type { SessionSource, Sources } from './sources.ts';
import type { DatabaseServer, DiskSpace, SearchIndexStats, TranscriptProblem } from './stats.ts';
import type { Transfer } from './transfer.ts';
import type { Turns } from './turns.ts';
import type { VerifyOptions, VerifyReport } from './verify-report.ts';

/**
 * The port that every store implements. It is append-only and has no optional methods; differences between stores are
 * data in `supports`. Every failure is a `RepriseError` whose `outcome` states what the failed write left behind.
 */
export interface Store extends AsyncDisposable {
  readonly supports: StoreSupports;

  /**
   * Creates a session with its header (seq 1). If the id already exists under the same key, returns the existing
   * session.
   */
  create(init: SessionInit): Promise<SessionRecord>;
  /** Also finds deleted sessions; their `status` is `deleted`. */
  get(id: string): Promise<SessionRecord>;
  /** The session that a key currently points to, or `undefined`. */
  active(key: string): Promise<SessionRecord | undefined>;
  /** Points the key to this session. The transcript records the reason. */
  activate(key: string, id: string, options?: ActivateOptions): Promise<SessionRecord>;
  /** Lists sessions in keyset pages, newest first by default. */
  list(query?: ListQuery): Promise<SessionPage>;

  /**
   * Appends all entries or none. The store checks in this order: idempotency key, tombstone, epoch, leaf. A repeated
   * idempotency key with the same body returns the seqs of the first call, whatever happened in between.
   */
  append(id: string, entries: readonly NewEntry[], options?: AppendOptions): Promise<AppendReceipt>;
  /**
   * Reads the entries that the model's context needs. The cost depends on the part of the history that is not
   * compacted, not on its full length. A caller that needs fewer entries sets `limit` or `only`.
   */
  tail(id: string, options?: TailOptions): Promise<EntryPage>;
  /** Reads the full history in pages by seq. */
  read(id: string, range?: ReadRange): Promise<EntryPage>;
  /**
   * Returns the bytes that a block's `blob` (`sha256:…`) references, if an entry of this session references them.
   * Other methods return entries as stored, with references; `hydrateBlobs` fills them in.
   */
  blob(id: string, hash: string): Promise<Uint8Array>;
  /** Yields committed entries after `afterSeq`, from any process, until the signal aborts. */
  watch(id: string, options: WatchOptions): AsyncIterable<StoredEntry>;

  /**
   * Emits an event to current listeners, best effort. The event is not stored and may have at most `LIVE_EVENT_BYTES`
   * of JSON. Resolves when the event is handed over, even if there is no listener. Does not check that the session
   * exists.
   */
  publish(id: string, event: JsonObject): Promise<void>;
  /**
   * Yields events published after this call, until the signal aborts or the store closes. `supports.live` defines
   * which processes' events arrive. A slow listener loses the oldest events; `missed` counts them.
   */
  live(id: string, options: LiveOptions): AsyncIterable<LiveEvent>;

  /**
   * Grants the exclusive right to run turns of a session. Each grant has a higher epoch than all grants before it.
   */
  lease(id: string, options?: LeaseOptions): Promise<Lease>;
  leases(): Promise<readonly LeaseInfo[]>;

  readonly inbox: Inbox;

  readonly turns: Turns;

  readonly convlog: Convlog;

  /** Cached values that callers computed from sessions. */
  readonly notes: Notes;

  /** Where imported sessions and entries come from. */
  readonly sources: Sources;

  /** For copies of the whole store. */
  readonly transfer: Transfer;

  /**
   * Appends a `reprise.settings` side entry, and another one if a title is given. The returned record has the merged
   * settings.
   */
  patch(id: string, settings: JsonObject, options?: PatchOptions): Promise<SessionRecord>;

  /** Deletes a session with a tombstone: fences its runner, cancels pending items and frees its key. */
  delete(id: string, options?: ChangeOptions): Promise<SessionRecord>;
  restore(id: string, options?: ChangeOptions): Promise<SessionRecord>;
  /** Removes the text of a deleted session from every file, row, log and index. Its id stays taken. */
  purge(id: string, options?: PurgeOptions): Promise<PurgeReceipt>;

  /** Finds messages that contain all words of a text, ignoring case, newest first. Deleted sessions are left out. */
  search(query: SearchQuery): Promise<SearchResult>;
  /** Rebuilds the search index and resolves when it is complete. Resolves at once in a store without an index. */
  reindex(): Promise<void>;
  /** Reads and checks every line of one session or of all sessions. */
  verify(id?: string, options?: VerifyOptions): Promise<VerifyReport>;
  stats(options?: StatsOptions): Promise<StoreStats>;
  /**
   * Returns the stored lines in seq order with their seals, LF-terminated, with blobs by reference. The bytes are the
   * same on every store.
   */
  exportSession(id: string): Promise<Uint8Array>;
  /**
   * The same bytes for a range of seqs, about 1 MB per call. `exportParts` uses it to export a history of any length.
   */
  exportLines(id: string, range: LineRange): Promise<LinePart>;
}

export interface StoreSupports {
  readonly search: 'scan' | 'index';
  readonly durability: 'none' | 'os' | 'disk';
  /** Whether other processes see the same sessions. */
  readonly shared: boolean;
  /**
   * Which listeners receive a published event: none, all stores in this process on the same data, or all processes.
   */
  readonly live: 'none' | 'process' | 'all';
}

/** Limit for one live event as JSON. Larger data belongs in the history. */
export const LIVE_EVENT_BYTES: number = 64 * 1024;

export interface SessionInit {
  /** Unset: the store generates a UUIDv7. */
  readonly id?: string;
  readonly key: string;
  readonly parentId?: string;
  readonly cwd?: string;
  /** ISO time at which the session began; set for imported sessions. Unset: now. */
  readonly createdAt?: string;
  readonly settings?: JsonObject;
  /**
   * Also point the key to the new session. If the key already points to a session, `create` returns that session
   * instead.
   */
  readonly activate?: boolean;
  /**
   * The user that the session belongs to; at most 256 characters. It never changes. Unset: the user of the parent
   * session, or the owner of the store.
   */
  readonly owner?: string;
  /** For an imported session. If a session with this source exists, `create` returns that session instead. */
  readonly source?: SessionSource;
}

export interface ActivateOptions {
  readonly reason?: string;
  /**
   * Idempotency key, from the same set as the keys of the session's appends. If it is already known, nothing happens,
   * even if the key points to another session by now.
   */
  readonly key?: string;
}

export type SessionStatus = 'open' | 'deleted';

export interface SessionRecord {
  readonly id: string;
  readonly agentId: string;
  readonly sessionKey: string;
  readonly title: string;
  readonly label?: string;
  readonly status: SessionStatus;
  /** Whether the session key currently points to this session. */
  readonly active: boolean;
  /** Number of user and assistant messages. */
  readonly messageCount: number;
  readonly turnCount: number;
  readonly tokenEstimate: number;
  readonly createdAt: string;
  readonly lastAt: string;
  readonly parentId?: string;
  /** The user that the session belongs to. Unset: the owner of the store. */
  readonly owner?: string;
  readonly lastSeq: number;
  readonly leaf: string | null;
  readonly epoch: number;
  readonly settings: JsonObject;
  /** Byte offset of the first damage. A damaged session is read-only. */
  readonly corruptAt?: number;
}

/** The fields that show whether a session changed. Everything else in a record follows from its lines. */
export type SeenSession = Pick<SessionRecord, 'lastSeq' | 'active' | 'status'>;

export interface ChangeOptions {
  /**
   * Change the session only if it still matches what the caller read; otherwise the call fails with
   * `PRECONDITION_FAILED`. The check runs first, in the writing transaction: if several callers in any processes read
   * the same state, only one of them succeeds.
   */
  readonly ifSeen?: SeenSession;
}

export interface PatchOptions extends ChangeOptions {
  /**
   * The conversation's title for people, written in the same transaction. With empty settings only the title is
   * written.
   */
  readonly title?: string;
}

export type ListSort = 'time' | 'messages' | 'tokens';

export interface ListQuery {
  readonly limit?: number;
  readonly cursor?: string;
  readonly agentId?: string;
  readonly channel?: string;
  /** The kind of session key: main, direct, group, subagent, … */
  readonly kind?: string;
  readonly parentId?: string;
  /** Only sessions of this user. */
  readonly owner?: string;
  readonly status?: SessionStatus | 'any';
  /** `time` by default: the time of the last entry. `messages` and `tokens` sort by the counts in the records. */
  readonly sort?: ListSort;
  /** `desc` by default: the newest or largest first. */
  readonly order?: 'asc' | 'desc';
  /** Part of the title or label, ignoring case. */
  readonly text?: string;
}

export interface SessionPage {
  readonly sessions: readonly SessionRecord[];
  /** The cursor of the next page; null after the last page. */
  readonly cursor: string | null;
  /** Set while the index is rebuilt from the transcripts. Sessions that the rebuild has not read yet are missing. */
  readonly rebuilding?: RebuildProgress;
}

/**
 * An entry to append. The store sets its id, parent and time; only `reprise.leaf` may name its parent. A `sourceId`
 * makes an imported entry findable; see sources.ts.
 */
export interface NewEntry {
  readonly type: string;
  readonly id?: never;
  readonly parentId?: string | null;
  readonly [key: string]: unknown;
}

export interface AppendOptions {
  /** Idempotency key. A caller that lost the answer can retry the append; the entries are written once. */
  readonly key?: string;
  /** The epoch of the caller's lease. */
  readonly epoch?: number;
  readonly expectedLeaf?: string | null;
  /**
   * Inbox items that end with this append, in the same transaction. They are also settled when a retry repeats a
   * known key. An item that is already in a final state keeps it.
   */
  readonly settle?: readonly Settlement[];
  /**
   * Messages to accept in the same transaction: for other sessions (a child's result for its parent) or for this one
   * (a message to resend after the append undid it). Each needs an idempotency key, so that a retry accepts it once.
   * A message for a deleted or missing session is skipped.
   */
  readonly deliver?: readonly Inbound[];
  /** Channel log lines to write in the same transaction. Skipped when the append's key was already known. */
  readonly log?: readonly ConvlogLine[];
}

export interface AppendReceipt {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

export interface StoredEntry {
  readonly seq: number;
  /** The header has seq 1. */
  readonly entry: Entry | SessionHeader;
}

export interface EntryPage {
  readonly entries: readonly StoredEntry[];
  /** The last seq of the session, not of this page. */
  readonly lastSeq: number;
  readonly hasMore: boolean;
}

export interface ReadRange {
  /** Inclusive. Unset: the first line when reading forward, the last line when reading backward. */
  readonly from?: number;
  readonly limit?: number;
  readonly direction?: 'forward' | 'backward';
}

export interface TailOptions {
  /** Return at most this many entries, the newest; `hasMore` is true if older ones exist. */
  readonly limit?: number;
  /** Return only entries of these types and custom types. */
  readonly only?: readonly string[];
}

export interface WatchOptions {
  readonly afterSeq: number;
  readonly signal: AbortSignal;
}

export interface LiveOptions {
  readonly signal: AbortSignal;
}

export interface LiveEvent {
  readonly event: JsonObject;
  /** Number of events this listener lost immediately before this one. */
  readonly missed: number;
}

export interface LeaseOptions {
  readonly ttlMs?: number;
  /** How long to wait while another holder has the lease, before `LEASE_HELD`. */
  readonly waitMs?: number;
}

export interface Lease extends AsyncDisposable {
  readonly sessionId: string;
  readonly epoch: number;
  /** Aborts when the lease is lost. */
  readonly signal: AbortSignal;
  renew(): Promise<void>;
  /**
   * Releases the lease. @returns null, or the accepted item that still waits; in that case the lease is not released.
   */
  release(options?: ReleaseOptions): Promise<InboxItem | null>;
}

export interface ReleaseOptions {
  /** Release the lease even if messages wait; the next process that sweeps the inbox runs them. */
  readonly handOver?: boolean;
}

export interface LeaseInfo {
  readonly sessionId: string;
  /** 0 for a lock file of another tool. */
  readonly epoch: number;
  readonly holder: JsonObject;
  readonly alive: boolean;
  /** The lock file of another tool beside the transcript; unset for a lease of Reprise. */
  readonly lockFile?: string;
}

export interface StatsOptions {
  /** Also report the progress of the search index. This reads a row of every session. */
  readonly search?: boolean;
}

export interface StoreStats {
  readonly sessions: number;
  /** Sessions whose record has `corruptAt`: damaged and read-only. */
  readonly damaged: number;
  /** Total size of all transcripts. */
  readonly bytes: number;
  /** Sessions with committed lines that their transcript file does not have yet. */
  readonly behind: number;
  /** Why transcript files could not be written at the last attempt of this process. */
  readonly problems: readonly TranscriptProblem[];
  /** Set by stores that keep their data on a local disk. */
  readonly disk?: DiskSpace;
  /** Set by stores that keep their data on a server. */
  readonly server?: DatabaseServer;
  /** Set while the index is rebuilt from the transcripts. Lists show only the sessions read so far. */
  readonly rebuilding?: RebuildProgress;
  /** Set if the caller asked for it and the store has a search index. */
  readonly search?: SearchIndexStats;
}

export interface RebuildProgress {
  /** Transcripts whose lines were counted. */
  readonly done: number;
  readonly total: number;
  /** Transcripts that lists show. Those whose lines were not counted yet have 0 messages there. */
  readonly listed: number;
}
