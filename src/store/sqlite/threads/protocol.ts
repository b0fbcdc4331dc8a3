import type { ErrorCode, Outcome } from '../../../errors.ts';
import type { Message } from '../../../messages/message.ts';

/** What the main thread and the storage threads say to each other. */
export interface ThreadOptions {
  readonly role: 'writer' | 'reader' | 'both' | 'searcher';
  /** Of control.db, or `:memory:`. */
  readonly path: string;
  /** Where transcripts stand; unset for stores that keep everything in the database. */
  readonly home?: string;
  readonly durability: 'disk' | 'os';
  readonly now?: string;
  /** Below so much free space no turn begins; unset: a share of the disk. */
  readonly minFreeBytes?: number;
  /** How long what a session's tail says is kept in memory after it was last asked for; 0 keeps nothing. */
  readonly cacheTtlMs?: number;
  /** Nothing is written: no lock, no catching up, no index. */
  readonly readOnly?: boolean;
  readonly engineId: string;
  /** Whether it opens nothing before it is told `GO`. */
  readonly waits?: boolean;
  /** Leases this engine holds: what a thread that takes the place of a dead one goes on beating. */
  readonly leases?: readonly HeldLease[];
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

/** The answers of a whole batch travel in one message: receiving one costs the main thread more than reading it. */
export type ThreadMessage = readonly ThreadReply[] | ThreadEvent;

export type ThreadEvent =
  | { readonly event: 'ready' }
  | { readonly event: 'failed'; readonly error: ThreadError }
  /** The index agrees with the transcripts: from now on nobody has to ask for anything to be prepared. */
  | { readonly event: 'rebuilt' }
  /** Null: another process has committed something. */
  | { readonly event: 'changed'; readonly sessions: readonly string[] | null }
  | { readonly event: 'lost'; readonly session: string; readonly epoch: number }
  /** Something else had changed a `sessions.json`; that file is kept under this name. */
  | { readonly event: 'edited'; readonly file: string }
  /** Why the index for searches does not come forward; unset: it does. */
  | { readonly event: 'index-problem'; readonly problem?: string | undefined };
