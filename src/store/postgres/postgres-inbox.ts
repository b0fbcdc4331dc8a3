import { normalizeSessionKey } from '../../keys/session-key.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type {
  Inbound,
  InboundKey,
  Inbox,
  InboxChange,
  InboxItem,
  InboxReceipt,
  InboxState,
  InboxWatchOptions,
  PendingQuery,
  RecountOptions,
  TakeOptions,
} from '../port/inbox.ts';
import { checkObject } from '../rules/check-input.ts';
import { receiveRequest } from '../rules/inbound.ts';
import type { Sleepers } from '../shared/sleepers.ts';
import { currentXid, forgetForeignXids, InboxChanges, type Xid } from './connection/inbox-changes.ts';
import { type StoreContext, transaction } from './connection/transaction.ts';
import { knownItem, receive, recountItem, settleRows, takeItem } from './write/inbox.ts';
import { getItem, pendingItems } from './write/inbox-rows.ts';

export interface PostgresInboxOptions {
  readonly context: StoreContext;
  /** Wakes watchers when an inbox may have changed, and at intervals; starts with `begin`. */
  readonly wakes: { readonly inboxes: Sleepers; begin(): void };
  /** Aborts when the store closes. */
  readonly closing: AbortSignal;
}

/** The inbox on PostgreSQL. Each call is one transaction or one query, and all nodes are equal. */
export class PostgresInbox implements Inbox {
  readonly #context: StoreContext;
  readonly #wakes: PostgresInboxOptions['wakes'];
  readonly #closing: AbortSignal;
  /** The position at which a new watch starts. */
  #at: Xid;

  private constructor({ context, wakes, closing }: PostgresInboxOptions, at: Xid) {
    this.#context = context;
    this.#wakes = wakes;
    this.#closing = closing;
    this.#at = at;
  }

  static async open(options: PostgresInboxOptions): Promise<PostgresInbox> {
    const { connections } = options.context;
    if (!connections.settings.readOnly) await forgetForeignXids(connections);
    return new PostgresInbox(options, await currentXid(connections));
  }

  async receive(inbound: Inbound): Promise<InboxReceipt> {
    const request = receiveRequest(inbound);
    return transaction(this.#context, (tx) => receive(tx, request));
  }

  async take(id: string, options: TakeOptions): Promise<InboxItem | null> {
    return transaction(this.#context, (tx) => takeItem(tx, { id, ...options }));
  }

  async recount(id: string, options: RecountOptions): Promise<void> {
    await transaction(this.#context, (tx) => recountItem(tx, { id, ...options }));
  }

  async settle(inboxId: string, state: InboxState, detail?: JsonObject): Promise<void> {
    if (detail !== undefined) checkObject(detail, 'detail');
    const settlement = { inboxId, state, ...(detail !== undefined && { detail }) };
    await transaction(this.#context, (tx) => settleRows(tx, [settlement]));
  }

  async get(inboxId: string): Promise<InboxItem> {
    return getItem(this.#context.connections, inboxId);
  }

  async pending(query: string | PendingQuery = {}): Promise<readonly InboxItem[]> {
    const asked = typeof query === 'string' ? { sessionId: query } : query;
    return pendingItems(this.#context.connections, asked);
  }

  async known({ sessionKey, ...key }: InboundKey): Promise<InboxItem | undefined> {
    return knownItem(this.#context.connections, { ...key, sessionKey: normalizeSessionKey(sessionKey) });
  }

  watch({ signal }: InboxWatchOptions): AsyncIterable<InboxChange> {
    this.#wakes.begin();
    // Changes count from this call on, even if the caller starts its loop later.
    return this.#changes(this.#at, AbortSignal.any([signal, this.#closing]));
  }

  async *#changes(after: Xid, signal: AbortSignal): AsyncGenerator<InboxChange> {
    const changes = new InboxChanges(after);
    while (!signal.aborted) {
      // Subscribe before reading, so that a commit in between wakes the watch.
      using sleep = this.#wakes.inboxes.sleep('', signal);
      const items = await this.#look(changes);
      if (signal.aborted) return;
      this.#at = changes.at;
      for (const item of items) {
        if (signal.aborted) return;
        yield item;
      }
      if (items.length === 0) await sleep.woken;
    }
  }

  /** If the server is not reachable, the next wake-up asks again: changes are reported later, but not lost. */
  async #look(changes: InboxChanges): Promise<InboxChange[]> {
    try {
      return await changes.next(this.#context.connections);
    } catch {
      return [];
    }
  }
}
