import type { ErrorCode, Outcome } from '../../../errors.ts';
import type { Message } from '../../../messages/message.ts';
import type { InboxChanges } from '../write/inbox-rows.ts';

/** Messages between the main thread and the storage threads. */
export interface ThreadOptions {
  readonly role: 'writer' | 'reader' | 'both' | 'searcher';
  /** Path of control.db, or `:memory:`. */
  readonly path: string;
  /** The home with the transcripts; unset for stores that keep everything in the database. */
  readonly home?: string;
  readonly durability: 'disk' | 'os';
  readonly now?: string;
  /** With less free space than this no turn starts; unset: a share of the disk. */
  readonly minFreeBytes?: number;
  /** How long a cached tail stays in memory after its last use; 0 disables the cache. */
  readonly cacheTtlMs?: number;
  /** Open without writing: no lock, no catching up of files, no index. */
  readonly readOnly?: boolean;
  readonly engineId: string;
  /** The thread opens nothing before it receives `GO`. */
  readonly waits?: boolean;
  /** Leases that this engine holds. A thread that replaces a dead one continues their heartbeats. */
  readonly leases?: readonly HeldLease[];
}

/** All inbox changes after the number `after`, up to `at`. */
export interface CommittedChanges extends InboxChanges {
  readonly after: number;
}

export const GO = 'go';

export interface HeldLease {
  readonly id: string;
  readonly epoch: number;
  readonly ttlMs: number;
}

export interface ThreadRequest {
  readonly n: number;
  readonly op: string;
  readonly args: unknown;
}

export interface ThreadError {
  readonly code: ErrorCode;
  readonly message: string;
  readonly why?: Message;
  readonly details: Readonly<Record<string, unknown>>;
  readonly outcome: Outcome;
}

export type ThreadReply =
  | { readonly n: number; readonly ok: true; readonly value: unknown }
  | { readonly n: number; readonly ok: false; readonly error: ThreadError };

/**
 * The replies of a batch travel in one message: for the main thread, receiving a message costs more than reading it.
 */
export type ThreadMessage = readonly ThreadReply[] | ThreadEvent;

export type ThreadEvent =
  | { readonly event: 'ready' }
  | { readonly event: 'failed'; readonly error: ThreadError }
  /** The index matches the transcripts; callers need no `prepare` any more. */
  | { readonly event: 'rebuilt' }
  /** Null: another process committed something. */
  | {
      readonly event: 'changed';
      readonly sessions: readonly string[] | null;
      /** Set where our own commit changed inbox rows. */
      readonly inbox?: CommittedChanges | undefined;
    }
  | { readonly event: 'lost'; readonly session: string; readonly epoch: number }
  /** Another program changed a `sessions.json`; the edited file was moved to this path. */
  | { readonly event: 'edited'; readonly file: string }
  /** Why the search index makes no progress; unset once it does. */
  | { readonly event: 'index-problem'; readonly problem?: string | undefined };
