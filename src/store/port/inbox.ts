import type { JsonObject } from '../../transcript/json.ts';
import type { ConvlogLine } from './convlog.ts';

/**
 * `accepted`, `running` and `waiting` items are open, the others ended. A `waiting` item belongs to a turn that waits
 * for a person: no runner takes it before `take` names it, and a crash changes nothing about it.
 */
export type InboxState =
  | 'accepted'
  | 'running'
  | 'waiting'
  | 'done'
  | 'failed'
  | 'cancelled'
  | 'merged'
  | 'dropped'
  | 'held'
  | 'interrupted';

/**
 * `message` counts towards the cap of a queue. `system` (children's results, events) is never counted and never
 * dropped. `command` runs at once in the process that received it: its row starts as `running`, and no runner takes
 * or drops it.
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
  /** How often a runner has taken the item, minus what `recount` subtracted. */
  readonly attempts: number;
  readonly createdAt: string;
  readonly detail?: JsonObject;
  /** Items that were dropped at the cap with `summarize` and are summarized in this one, oldest first. */
  readonly carries?: readonly string[];
}

export interface Settlement {
  readonly inboxId: string;
  readonly state: InboxState;
  readonly detail?: JsonObject;
}

export interface Inbound {
  readonly sessionKey: string;
  /**
   * Deliver to this session of the key, whether or not it is active. Unset: to the active session, which is created
   * if needed.
   */
  readonly sessionId?: string;
  /** The channel or surface. Together with the idempotency key it makes a message unique. */
  readonly source: string;
  readonly idempotencyKey?: string;
  /** What a retry with the same key must match. Unset: the whole body. */
  readonly digest?: string;
  readonly body: JsonObject;
  /** Start a new session for the key first. */
  readonly reset?: Reset;
  /** Used if this message creates a session. */
  readonly create?: NewSession;
  /** `message` by default. */
  readonly class?: InboxClass;
  /** Applies only to class `message`. */
  readonly queue?: QueueLimit;
  /** Refuse with `SESSION_BUSY` if the session has an accepted or running item. */
  readonly ifIdle?: boolean;
  readonly group?: InboxGroup;
  /**
   * A channel log line to write in the same transaction if the message is new. The store fills in the session that
   * received it.
   */
  readonly log?: ConvlogLine;
}

/**
 * Starts a new session for the key. The old session stays and gets a `reprise.reset` side entry that names the new
 * one. The new session has the old one as its parent and records the reason in its `reprise.activate` line.
 */
export interface Reset {
  readonly reason: string;
  /**
   * Reset only if the key still points to this session. If another reset came first, the message joins the session of
   * that reset. Unset: always reset.
   */
  readonly from?: string;
  /** Settings of the old session that the new one does not inherit. It inherits all others. */
  readonly forget?: readonly string[];
}

export interface NewSession {
  /** Unset: the store generates a UUIDv7. */
  readonly id?: string;
  /** After a reset, the old session is the parent. */
  readonly parentId?: string;
  /** The user that the session belongs to; see `SessionInit.owner`. A reset ignores it. */
  readonly owner?: string;
  /** Applied on top of the settings that a reset carries over; null removes a setting. */
  readonly settings?: JsonObject;
}

/**
 * At `cap` accepted messages: refuse the new one with `QUEUE_FULL` (`new`), drop the oldest (`old`), or drop the
 * oldest and summarize it in the next message (`summarize`).
 */
export interface QueueLimit {
  readonly cap: number;
  readonly drop: 'old' | 'new' | 'summarize';
}

export interface InboxGroup {
  readonly name: string;
  /**
   * Maximum of accepted and running items in the group. One more fails with `LIMIT_EXCEEDED` and `details.limit` =
   * `group`.
   */
  readonly max?: number;
}

export interface InboxReceipt {
  readonly inboxId: string;
  readonly sessionId: string;
  readonly sessionKey: string;
  /** False if the same message was accepted before. */
  readonly fresh: boolean;
  /** Whether a runner holds the session's lease. If not, the receiving process runs the session. */
  readonly held: boolean;
  /** Items that were dropped to make room for this one. */
  readonly dropped: readonly string[];
  /** Set if this message created the session: the session it replaced, or null. */
  readonly created?: { readonly replaced: string | null };
}

export interface TakeOptions {
  readonly epoch: number;
  readonly orphans?: boolean;
  /** Take only this accepted or waiting item. @returns null if it runs or has ended. */
  readonly inboxId?: string;
}

export type RecountOptions = Pick<InboxItem, 'inboxId' | 'attempts'> & { readonly epoch: number };

export interface PendingQuery {
  readonly sessionId?: string;
  readonly group?: string;
}

/** The fields that make a message unique, whatever its state. */
export interface InboundKey {
  readonly sessionKey: string;
  readonly source: string;
  readonly idempotencyKey: string;
}

export interface InboxWatchOptions {
  readonly signal: AbortSignal;
}

/** An item that was accepted or settled, with its state when the store read it: by then it may run already. */
export interface InboxChange {
  readonly sessionId: string;
  readonly inboxId: string;
  readonly state: InboxState;
}

export interface Inbox {
  /**
   * Accepts a message in one transaction: known key, group, reset, session, queue, row. A refusal writes nothing. For
   * a known key the receipt names the item of the first call, and nothing else happens.
   */
  receive(inbound: Inbound): Promise<InboxReceipt>;
  /**
   * Moves the oldest accepted item of a session to `running`; needs the lease's epoch. With `orphans`, an item that
   * is already `running` comes first: the lease holder knows that its previous runner is gone.
   */
  take(sessionId: string, options: TakeOptions): Promise<InboxItem | null>;
  /**
   * Sets the attempt count of a `running` item. The lease holder calls it after an attempt that could not begin and
   * was not the item's fault. Does nothing if the item is not running in this session.
   */
  recount(sessionId: string, options: RecountOptions): Promise<void>;
  /** A final state stays. With `waiting` the item rests: its attempts start at 0 when `take` names it again. */
  settle(inboxId: string, state: InboxState, detail?: JsonObject): Promise<void>;
  get(inboxId: string): Promise<InboxItem>;
  /** Lists open items, oldest first: of one session, of one group, or all. */
  pending(query?: string | PendingQuery): Promise<readonly InboxItem[]>;
  /** The item that this key received the first time, or `undefined` if the key is unknown. */
  known(key: InboundKey): Promise<InboxItem | undefined>;
  /**
   * Yields the items that any process accepted or settled after this call, until the signal aborts or the store
   * closes. It may yield an item more than once, but it never misses a change.
   */
  watch(options: InboxWatchOptions): AsyncIterable<InboxChange>;
}
