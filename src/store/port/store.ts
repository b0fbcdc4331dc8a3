/* Longer than files here should be: whoever writes a store finds all it has to do in one place. */

import type { Entry, SessionHeader } from '../../transcript/entry.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type { Convlog, ConvlogLine } from './convlog.ts';
import type { LinePart, LineRange } from './line-part.ts';
import type { Notes } from './notes.ts';
import type { PurgeOptions, PurgeReceipt } from './purge.ts';
import type { Transfer } from './transfer.ts';
import type { VerifyOptions, VerifyReport } from './verify-report.ts';

/**
 * The port every store implements: append-only and small. There are no optional methods; what differs between
 * stores is data in `supports`. Every failure is a `RepriseError` whose `outcome` says what it left behind.
 */
export interface Store extends AsyncDisposable {
  readonly supports: StoreSupports;

  /** Makes a session and its header (seq 1). An existing id under the same key is answered as it is. */
  create(init: SessionInit): Promise<SessionRecord>;
  /** Deleted sessions are found too; `status` says so. */
  get(id: string): Promise<SessionRecord>;
  /** The session a key stands for now, if any. */
  active(key: string): Promise<SessionRecord | undefined>;
  /** The reason is kept in the transcript. */
  activate(key: string, id: string, options?: ActivateOptions): Promise<SessionRecord>;
  /** Newest first unless asked otherwise, in keyset pages. */
  list(query?: ListQuery): Promise<SessionPage>;

  /**
   * Atomic: all entries or none. Checked in this order: idempotency key, tombstone, epoch, leaf. A known key
   * with the same body answers with the seqs it got the first time, whatever happened since.
   */
  append(id: string, entries: readonly NewEntry[], options?: AppendOptions): Promise<AppendReceipt>;
  /**
   * The entries the context needs; what it costs does not depend on the length of the history, as far as that was
   * compacted. Where it was not, whoever needs less says so.
   */
  tail(id: string, options?: TailOptions): Promise<EntryPage>;
  /** Pages of the full history by seq. */
  read(id: string, range?: ReadRange): Promise<EntryPage>;
  /**
   * The bytes behind a block's `blob` (`sha256:…`), only of a session that has it. Entries are answered as they
   * are stored, with references; `hydrateBlobs` makes them whole.
   */
  blob(id: string, hash: string): Promise<Uint8Array>;
  /** Committed entries after `afterSeq`, appended by anyone in any process, until the signal aborts. */
  watch(id: string, options: WatchOptions): AsyncIterable<StoredEntry>;

  /**
   * Tells whoever listens now: best effort, never stored, at most `LIVE_EVENT_BYTES` of JSON. Resolves when it is
   * handed over, heard or not; whether the session exists is not asked.
   */
  publish(id: string, event: JsonObject): Promise<void>;
  /**
   * What is published after this call, until the signal aborts or the store closes. Reaches as far as
   * `supports.live` says. A listener that does not keep up loses the oldest, and is told how many.
   */
  live(id: string, options: LiveOptions): AsyncIterable<LiveEvent>;

  /** Who may run turns. A grant always has a higher epoch than any before. */
  lease(id: string, options?: LeaseOptions): Promise<Lease>;
  leases(): Promise<readonly LeaseInfo[]>;

  readonly inbox: Inbox;

  readonly convlog: Convlog;

  /** What was worked out of sessions. */
  readonly notes: Notes;

  /** For copies of the whole store. */
  readonly transfer: Transfer;

  /** Appends a `reprise.settings` side entry, and one for a title; the record shows the merged result. */
  patch(id: string, settings: JsonObject, options?: PatchOptions): Promise<SessionRecord>;

  /** A tombstone: fences a runner, cancels pending items, frees the key. */
  delete(id: string, options?: ChangeOptions): Promise<SessionRecord>;
  restore(id: string, options?: ChangeOptions): Promise<SessionRecord>;
  /** Removes the text of a deleted session from every file, row, log and index; its id stays taken. */
  purge(id: string, options?: PurgeOptions): Promise<PurgeReceipt>;

  /** The newest messages first that hold all words of a text, ignoring case. Deleted sessions are left out. */
  search(query: SearchQuery): Promise<SearchResult>;
  /** Throws the index of searches away and makes it anew; answers when it has everything. Where there is none: at once. */
  reindex(): Promise<void>;
  /** Reads everything, of one session or of all. */
  verify(id?: string, options?: VerifyOptions): Promise<VerifyReport>;
  stats(options?: StatsOptions): Promise<StoreStats>;
  /** The stored lines in seq order with their seals, LF-terminated, blobs by reference: equal bytes on every store. */
  exportSession(id: string): Promise<Uint8Array>;
  /** The same bytes for some seqs of it, about a megabyte at once: `exportParts` gives all of any length. */
  exportLines(id: string, range: LineRange): Promise<LinePart>;
}

export interface StoreSupports {
  readonly search: 'scan' | 'index';
  readonly durability: 'none' | 'os' | 'disk';
  /** Whether other processes see the same sessions. */
  readonly shared: boolean;
  /** Who hears what is published: nobody, every store in this process on the same data, or every process. */
  readonly live: 'none' | 'process' | 'all';
}

/** Of an event as JSON. Larger ones belong into the history. */
export const LIVE_EVENT_BYTES: number = 64 * 1024;

export interface SessionInit {
  /** Unset: a UUIDv7. */
  readonly id?: string;
  readonly key: string;
  readonly parentId?: string;
  readonly cwd?: string;
  /** ISO time of a session that began elsewhere, such as one that is imported. Unset: now. */
  readonly createdAt?: string;
  readonly settings?: JsonObject;
  /** Makes it the session of its key as well. Where the key stands for one already, that one is the answer. */
  readonly activate?: boolean;
}

export interface ActivateOptions {
  readonly reason?: string;
  /** Idempotency key, one of the appends of the session: where it is known nothing happens, whoever has the session key now. */
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
  /** Whether the key stands for this session now. */
  readonly active: boolean;
  /** User and assistant messages. */
  readonly messageCount: number;
  readonly turnCount: number;
  readonly tokenEstimate: number;
  readonly createdAt: string;
  readonly lastAt: string;
  readonly parentId?: string;
  readonly lastSeq: number;
  readonly leaf: string | null;
  readonly epoch: number;
  readonly settings: JsonObject;
  /** Byte offset of damage; such a session is read-only. */
  readonly corruptAt?: number;
}

/** What of a record tells whether anything in it has changed: all the rest comes from its lines. */
export type SeenSession = Pick<SessionRecord, 'lastSeq' | 'active' | 'status'>;

export interface ChangeOptions {
  /**
   * Only if the session is still as the caller has seen it, else `PRECONDITION_FAILED`. Decided in the transaction that
   * writes and before everything else: of any number who have seen the same, in any processes, one gets through.
   */
  readonly ifSeen?: SeenSession;
}

export interface PatchOptions extends ChangeOptions {
  /** What people call the conversation, written in the same step; with empty settings it is all that is written. */
  readonly title?: string;
}

export type ListSort = 'time' | 'messages' | 'tokens';

export interface ListQuery {
  readonly limit?: number;
  readonly cursor?: string;
  readonly agentId?: string;
  readonly channel?: string;
  /** The kind of the session key: main, direct, group, subagent, … */
  readonly kind?: string;
  readonly parentId?: string;
  readonly status?: SessionStatus | 'any';
  /** By default `time`: the time of the last entry. `messages` and `tokens` as their records count them. */
  readonly sort?: ListSort;
  /** By default `desc`: the newest or the most first. */
  readonly order?: 'asc' | 'desc';
  /** Part of the title or label, ignoring case. */
  readonly text?: string;
}

export interface SessionPage {
  readonly sessions: readonly SessionRecord[];
  /** Where the next page starts; null at the end. */
  readonly cursor: string | null;
  /** Set while the index is rebuilt from the transcripts: sessions that were not read yet are missing here. */
  readonly rebuilding?: RebuildProgress;
}

/** An entry as a caller gives it: id, parent and time are the store's. Only `reprise.leaf` names its parent. */
export interface NewEntry {
  readonly type: string;
  readonly id?: never;
  readonly parentId?: string | null;
  readonly [key: string]: unknown;
}

export interface AppendOptions {
  /** Idempotency key: with it an append whose answer was lost can be tried again and is written once. */
  readonly key?: string;
  /** The epoch of the caller's lease. */
  readonly epoch?: number;
  readonly expectedLeaf?: string | null;
  /** In the same transaction, also on a retry with a known key: items that end with this append. A final state stays. */
  readonly settle?: readonly Settlement[];
  /**
   * In the same transaction: messages for other sessions (a child's result for its parent), or for this one (what is
   * said again in the place of what the append takes back). Each needs an idempotency key, so that a retry accepts it
   * once. One for a session that is deleted or gone is passed over.
   */
  readonly deliver?: readonly Inbound[];
  /** Written to the convlog in the same transaction; not when the key was known. */
  readonly log?: readonly ConvlogLine[];
}

export interface AppendReceipt {
  readonly firstSeq: number;
  readonly lastSeq: number;
}

export interface StoredEntry {
  readonly seq: number;
  /** The header is seq 1. */
  readonly entry: Entry | SessionHeader;
}

export interface EntryPage {
  readonly entries: readonly StoredEntry[];
  /** Of the session, not of the page. */
  readonly lastSeq: number;
  readonly hasMore: boolean;
}

export interface ReadRange {
  /** Inclusive. Unset: the first line forwards, the last one backwards. */
  readonly from?: number;
  readonly limit?: number;
  readonly direction?: 'forward' | 'backward';
}

export interface TailOptions {
  /** At most so many, the newest; `hasMore` says that there are older ones. */
  readonly limit?: number;
  /** Only entries of these types and custom types. */
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
  /** How many events this listener lost right before this one. */
  readonly missed: number;
}

export interface LeaseOptions {
  readonly ttlMs?: number;
  /** How long to wait for another holder before `LEASE_HELD`. */
  readonly waitMs?: number;
}

export interface Lease extends AsyncDisposable {
  readonly sessionId: string;
  readonly epoch: number;
  /** Aborts when the lease is lost. */
  readonly signal: AbortSignal;
  renew(): Promise<void>;
  /** Refuses while an accepted item waits, and answers with that item instead. */
  release(options?: ReleaseOptions): Promise<InboxItem | null>;
}

export interface ReleaseOptions {
  /** Let go although messages wait: whoever sweeps next runs them. */
  readonly handOver?: boolean;
}

export interface LeaseInfo {
  readonly sessionId: string;
  /** 0 for a lock of another tool. */
  readonly epoch: number;
  readonly holder: JsonObject;
  readonly alive: boolean;
  /** The lock file of another tool beside the transcript; unset for a lease of ours. */
  readonly lockFile?: string;
}

export type InboxState =
  | 'accepted'
  | 'running'
  | 'done'
  | 'failed'
  | 'cancelled'
  | 'merged'
  | 'dropped'
  | 'held'
  | 'interrupted';

/**
 * `message` counts for the cap of a queue. `system` is never counted and never dropped: children's results, events.
 * `command` runs at once where it was received: it is born `running`, never taken and never dropped.
 */
export type InboxClass = 'message' | 'system' | 'command';

export interface InboxItem {
  readonly inboxId: string;
  readonly sessionId: string;
  readonly sessionKey: string;
  readonly state: InboxState;
  readonly class: InboxClass;
  readonly group?: string;
  readonly body: JsonObject;
  /** How often a runner has taken it, less what `recount` took back. */
  readonly attempts: number;
  readonly createdAt: string;
  readonly detail?: JsonObject;
  /** Items that were dropped at the cap with `summarize` and stand in this one now, oldest first. */
  readonly carries?: readonly string[];
}

export interface Settlement {
  readonly inboxId: string;
  readonly state: InboxState;
  readonly detail?: JsonObject;
}

export interface Inbound {
  readonly sessionKey: string;
  /** This session of the key, whichever is active; unset: the active one, made if there is none. */
  readonly sessionId?: string;
  /** With the key it makes a message unique: the channel, or the surface. */
  readonly source: string;
  readonly idempotencyKey?: string;
  /** What a retry with the same key has to be equal in; unset: the whole body. */
  readonly digest?: string;
  readonly body: JsonObject;
  /** Start a new session for the key first. */
  readonly reset?: Reset;
  /** For the session this message may have to make. */
  readonly create?: NewSession;
  /** By default `message`. */
  readonly class?: InboxClass;
  /** Applies to class `message`. */
  readonly queue?: QueueLimit;
  /** Refuse with `SESSION_BUSY` while the session has an accepted or running item. */
  readonly ifIdle?: boolean;
  readonly group?: InboxGroup;
  /** Written to the convlog in the same transaction, if the message is fresh; its session is the one that got it. */
  readonly log?: ConvlogLine;
}

/**
 * The old session is kept: it gets a `reprise.reset` side entry that names the new one, which has it as its parent and
 * keeps the reason in its `reprise.activate` line.
 */
export interface Reset {
  readonly reason: string;
  /** Only if this is still the session of the key: where another reset came first, the message joins that one's. Unset: always. */
  readonly from?: string;
  /** Settings of the old session that do not go over to the new one; all others do. */
  readonly forget?: readonly string[];
}

export interface NewSession {
  /** Unset: a UUIDv7. */
  readonly id?: string;
  /** After a reset the old session is the parent. */
  readonly parentId?: string;
  /** They lie over what a reset carries; null takes a name back. */
  readonly settings?: JsonObject;
}

/** At `cap` accepted messages: refuse the new one (`QUEUE_FULL`), or drop the oldest, which `summarize` notes in the next. */
export interface QueueLimit {
  readonly cap: number;
  readonly drop: 'old' | 'new' | 'summarize';
}

export interface InboxGroup {
  readonly name: string;
  /** Of accepted and running items; one more is `LIMIT_EXCEEDED`, `details.limit` being `group`. */
  readonly max?: number;
}

export interface InboxReceipt {
  readonly inboxId: string;
  readonly sessionId: string;
  readonly sessionKey: string;
  /** False: this very message was accepted before. */
  readonly fresh: boolean;
  /** Whether somebody holds the session; if nobody does, the receiver runs it. */
  readonly held: boolean;
  /** Items that made place for this one; each is `dropped` now. */
  readonly dropped: readonly string[];
  /** Set when this message made the session: the session it took the place of, or null. */
  readonly created?: { readonly replaced: string | null };
}

export interface TakeOptions {
  readonly epoch: number;
  readonly orphans?: boolean;
  /** This very accepted item; null if it is not accepted any more. */
  readonly inboxId?: string;
}

export type RecountOptions = Pick<InboxItem, 'inboxId' | 'attempts'> & { readonly epoch: number };

export interface PendingQuery {
  readonly sessionId?: string;
  readonly group?: string;
}

/** What makes a message unique, whatever became of it. */
export interface InboundKey {
  readonly sessionKey: string;
  readonly source: string;
  readonly idempotencyKey: string;
}

export interface InboxWatchOptions {
  readonly signal: AbortSignal;
}

export interface Inbox {
  /**
   * One transaction: known key, group, reset, session, queue, row. Only then is the message accepted; a refusal leaves
   * nothing. A known key is answered with the item it got, and with nothing of what the first has done besides.
   */
  receive(inbound: Inbound): Promise<InboxReceipt>;
  /**
   * The oldest accepted item of a session becomes `running`; needs the lease's epoch. With `orphans` one that is
   * `running` already comes first: whoever holds the lease knows that its runner is gone.
   */
  take(sessionId: string, options: TakeOptions): Promise<InboxItem | null>;
  /**
   * Says how often an item that is `running` was tried: for the holder whose try could not begin through no fault of
   * the item. Nothing else of it changes; one that does not run, or not here, stays as it is.
   */
  recount(sessionId: string, options: RecountOptions): Promise<void>;
  settle(inboxId: string, state: InboxState, detail?: JsonObject): Promise<void>;
  get(inboxId: string): Promise<InboxItem>;
  /** Accepted and running items, oldest first; of one session, of one group, or all. */
  pending(query?: string | PendingQuery): Promise<readonly InboxItem[]>;
  /** What this key got the first time, if it was ever seen. */
  known(key: InboundKey): Promise<InboxItem | undefined>;
  /**
   * Sessions whose inbox has changed (an item accepted or settled, by any process) from this call on, until the signal
   * aborts or the store closes. May name a session too often, never too seldom.
   */
  watch(options: InboxWatchOptions): AsyncIterable<string>;
}

/**
 * What is looked at: the text of messages of users and assistants, of tool results, summaries and notes, up to
 * 262,144 characters each (16,384 for tools). Not looked at: tool calls, thinking, settings, titles.
 */
export interface SearchQuery {
  /**
   * Words parted by white space, all of which a text must hold, as parts of words too, ignoring case. Words in
   * quotation marks stand together. At most 16,384 characters, or it is refused with `LIMIT_EXCEEDED`.
   */
  readonly text: string;
  /** By default 20. */
  readonly limit?: number;
  readonly agentId?: string;
  readonly channel?: string;
  readonly sessionId?: string;
  /** The `next` of an answer: older hits than those. */
  readonly after?: string;
  /** How long to look at most, in milliseconds; by default 1000. */
  readonly budgetMs?: number;
}

/** Everything that was committed before the search is found, indexed or not, unless `complete` is false. */
export interface SearchResult {
  readonly hits: readonly SearchHit[];
  /** Where older hits begin, for `after`; null where this was all. */
  readonly next: string | null;
  /** False: there may be hits that should stand here and do not, and `reason` is set. */
  readonly complete: boolean;
  /** `time`: the budget was over. `indexing`: it was over because the index is not up to date yet, or was not there. */
  readonly reason?: SearchLack;
  /** How much of what was said the index has, where that is not everything. */
  readonly index?: SearchProgress;
}

export type SearchLack = 'time' | 'indexing';

/** In lines of transcripts. */
export interface SearchProgress {
  readonly done: number;
  readonly total: number;
}

/** `note`: what an extension or an unknown role said. */
export type SearchRole = 'user' | 'assistant' | 'tool' | 'summary' | 'note';

/** Newest first by `at`; of the same moment, the greater session id and then the greater seq. */
export interface SearchHit {
  /** Of the session. */
  readonly id: string;
  readonly agentId: string;
  readonly seq: number;
  readonly entryId: string;
  readonly role: SearchRole;
  /** When it was said; the beginning of time where the line does not say. */
  readonly at: string;
  /** One line around the first word that was found. */
  readonly snippet: string;
  /** What was found in the snippet: begin and end, in order and apart. */
  readonly marks: readonly (readonly [number, number])[];
}

export interface StatsOptions {
  /** Also how far the index for searches is, which costs a look at every session. */
  readonly search?: boolean;
}

export interface StoreStats {
  readonly sessions: number;
  /** Sessions whose record has `corruptAt`: known to be damaged, and read-only. */
  readonly damaged: number;
  /** Of all transcripts. */
  readonly bytes: number;
  /** Sessions with committed lines their transcript file does not have yet. */
  readonly behind: number;
  /** Why transcript files could not follow when this process tried last. */
  readonly problems: readonly TranscriptProblem[];
  /** Of stores that keep their data on a disk of this machine. */
  readonly disk?: DiskSpace;
  /** Of stores that keep it on a server. */
  readonly server?: DatabaseServer;
  /** Set while the index is made again from the transcripts: lists show what is known so far. */
  readonly rebuilding?: RebuildProgress;
  /** Where it was asked for, of stores that have an index for searches. */
  readonly search?: SearchIndexStats;
}

export interface SearchIndexStats extends SearchProgress {
  /** On the disk. */
  readonly bytes: number;
  /** Why it does not come forward; searches read everything meanwhile. */
  readonly problem?: string;
}

export interface TranscriptProblem {
  readonly session: string;
  /** An error code of the system or of ours. */
  readonly code: string;
  readonly detail: string;
}

export interface RebuildProgress {
  readonly done: number;
  readonly total: number;
}

export interface DiskSpace {
  readonly freeBytes: number;
  /** Below this no turn begins (`STORE_FULL`), while what runs may end and everything can be read. */
  readonly minFreeBytes: number;
}

/** What an operator asks of the server behind a store. */
export interface DatabaseServer {
  readonly version: string;
  /** When a commit is acknowledged: `synchronous_commit` of PostgreSQL, `off` if it does not wait for its disk at all. */
  readonly commits: string;
  /** Servers that follow it, and how many of them a commit waits for. */
  readonly replicas: number;
  readonly waitsFor: number;
  /** Of one question and its answer, just now. An append takes two of them. */
  readonly roundTripMs: number;
  readonly connections: { readonly used: number; readonly max: number; readonly pool: number };
  /** Whether other nodes are told of news; if not, they look by the clock. */
  readonly notify: boolean;
  /** It is a replica, or was set so: everything can be read, and nothing written. */
  readonly readOnly: boolean;
}
