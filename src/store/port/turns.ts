import type { InboxItem, InboxState, Settlement } from './inbox.ts';
import type { AppendOptions, AppendReceipt, Lease, NewEntry, SessionRecord } from './store.ts';

/** A row as the caller saw it; its message may have changed since. */
export interface SeenRow {
  readonly inboxId: string;
  readonly state: InboxState;
}

/** What a message adds to the history when its turn begins. */
export interface TurnInput {
  readonly inboxId: string;
  readonly entries: readonly NewEntry[];
}

/** The messages that the engine has chosen for a turn, and what it saw when it chose them. */
export interface TurnPlan {
  /** Made by the caller. A caller that lost the answer asks again with the same plan and gets the same turn. */
  readonly turnId: string;
  /** All open rows of the session, oldest first, without commands. */
  readonly openRows: readonly SeenRow[];
  /** The row that the turn runs. It is accepted, waiting, or left running by a runner that died. */
  readonly lead: string;
  /**
   * In the order of the history. Each is appended with its inbox id as idempotency key; all but the lead end as
   * `merged` into it. Empty for a turn whose messages are written later.
   */
  readonly inputs: readonly TurnInput[];
  /** Grant the lease, or confirm the one with this epoch. */
  readonly lease: { readonly ttlMs?: number } | { readonly epoch: number };
}

/** The open rows differ from those of the plan. Nothing was changed. */
export interface ChangedRows {
  readonly openRows: readonly InboxItem[];
}

export interface BegunTurn {
  readonly epoch: number;
  /** Set if the plan asked for a grant. */
  readonly lease?: Lease;
  /** The session after the inputs. */
  readonly record: SessionRecord;
  readonly lead: InboxItem;
  /** One for each input of the plan. */
  readonly receipts: readonly AppendReceipt[];
}

export interface TurnRef {
  readonly sessionId: string;
  readonly epoch: number;
}

export interface TurnEndOptions extends Pick<AppendOptions, 'settle' | 'deliver' | 'log'> {
  /** Also release the lease, unless an accepted message waits for this session. */
  readonly release: boolean;
}

export interface EndedTurn extends AppendReceipt {
  /** The settled rows as they are now. A row that had ended before keeps its end, for example that of a stop. */
  readonly rows: readonly Settlement[];
  /** Whether the lease is released. It is not if a message waits. */
  readonly released: boolean;
}

/** Each is one transaction and one round trip. The engine decides, the store compares and writes. */
export interface Turns {
  /**
   * Begins a turn: grants or confirms the lease, marks the lead as running and counts the attempt, and writes the
   * inputs. The same errors as `lease` (without waiting) and `append`.
   */
  begin(sessionId: string, plan: TurnPlan): Promise<BegunTurn | ChangedRows>;
  /** Appends the last entries of a turn, settles its rows and releases the lease. */
  end(turn: TurnRef, entries: readonly NewEntry[], options: TurnEndOptions): Promise<EndedTurn>;
}
