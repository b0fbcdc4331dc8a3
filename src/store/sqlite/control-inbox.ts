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
import { Sleepers } from '../shared/sleepers.ts';
import type { CommittedChanges } from './threads/protocol.ts';
import { isThreadDeath, type ThreadClient } from './threads/thread-client.ts';
import type { InboxChanges } from './write/inbox-rows.ts';

export interface ControlInboxOptions {
  readonly writer: ThreadClient;
  readonly reader: ThreadClient;
  /** The number of the last inbox change when the store was opened. */
  readonly at: number;
  /** Aborts when the store closes. */
  readonly closing: AbortSignal;
}

/** A watch gives up after its thread died this many times in a row. */
const MAX_READ_DEATHS = 3;

interface Watch {
  /** Something may have changed that `committed` does not hold. */
  mustAsk: boolean;
  /** What our own writer has committed since the last look. */
  readonly committed: CommittedChanges[];
}

interface Next extends InboxChanges {
  /** The thread died before it answered, so the same is to be asked again. */
  readonly death?: unknown;
}

/** The inbox of a store with a writer and a reader thread. */
export class ControlInbox implements Inbox {
  readonly #writer: ThreadClient;
  readonly #reader: ThreadClient;
  readonly #closing: AbortSignal;
  readonly #sleepers: Sleepers = new Sleepers();
  readonly #watches: Set<Watch> = new Set();
  /** Changes up to this number are old. A lower bound, so that `watch` can start without a request to the thread. */
  #at: number;

  constructor({ writer, reader, at, closing }: ControlInboxOptions) {
    this.#writer = writer;
    this.#reader = reader;
    this.#at = at;
    this.#closing = closing;
  }

  async receive(inbound: Inbound): Promise<InboxReceipt> {
    return this.waking(this.#writer.call('receive', receiveRequest(inbound)));
  }

  async take(id: string, { epoch, orphans = false, inboxId }: TakeOptions): Promise<InboxItem | null> {
    const which = inboxId === undefined ? { orphans } : { inboxId };
    return this.#writer.call('take', { id, epoch, ...which });
  }

  async recount(id: string, options: RecountOptions): Promise<void> {
    await this.#writer.call('recount', { id, ...options });
  }

  async settle(inboxId: string, state: InboxState, detail?: JsonObject): Promise<void> {
    if (detail !== undefined) checkObject(detail, 'detail');
    const settlement = { inboxId, state, ...(detail !== undefined && { detail }) };
    await this.waking(this.#writer.call('settle', settlement));
  }

  async get(inboxId: string): Promise<InboxItem> {
    return this.#reader.call('item', { inboxId });
  }

  async pending(query: string | PendingQuery = {}): Promise<readonly InboxItem[]> {
    return this.#reader.call('pending', typeof query === 'string' ? { sessionId: query } : query);
  }

  async known({ sessionKey, ...key }: InboundKey): Promise<InboxItem | undefined> {
    return this.#reader.call('known', { ...key, sessionKey: normalizeSessionKey(sessionKey) });
  }

  watch({ signal }: InboxWatchOptions): AsyncIterable<InboxChange> {
    // Changes count from this call on, even if the caller starts its loop later.
    return this.#changes(this.#at, AbortSignal.any([signal, this.#closing]));
  }

  /** For work that may change the inbox. The writer reports what it commits; after a failure the watches ask. */
  async waking<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      this.wake();
      throw error;
    }
  }

  /** Something may have changed that no event reports: the watches ask. */
  wake(): void {
    for (const watch of this.#watches) watch.mustAsk = true;
    this.#sleepers.wake(null);
  }

  /** What our own writer has committed: the watches need not ask for it. */
  changed(changes: CommittedChanges): void {
    this.#at = changes.at;
    for (const watch of this.#watches) watch.committed.push(changes);
    this.#sleepers.wake(null);
  }

  async *#changes(after: number, signal: AbortSignal): AsyncGenerator<InboxChange> {
    const watch: Watch = { mustAsk: true, committed: [] };
    this.#watches.add(watch);
    try {
      let seen = after;
      let deaths = 0;
      while (!signal.aborted) {
        // Asleep before looking: what is committed in between wakes us.
        using sleep = this.#sleepers.sleep('', signal);
        const { items, at, death } = await this.#next(watch, seen, signal);
        deaths = death === undefined ? 0 : deaths + 1;
        if (deaths > MAX_READ_DEATHS) throw death;
        seen = at;
        for (const item of items) {
          if (signal.aborted) return;
          yield item;
        }
        if (!watch.mustAsk && watch.committed.length === 0) await sleep.woken;
      }
    } finally {
      this.#watches.delete(watch);
    }
  }

  /** From memory as far as our own writer reported everything since `seen`, else from the database. */
  async #next(watch: Watch, seen: number, signal: AbortSignal): Promise<Next> {
    const items: InboxChange[] = [];
    let at = seen;
    for (const changes of watch.committed.splice(0)) {
      // A writer thread that replaced a dead one does not know what that one committed last.
      if (changes.after > at) watch.mustAsk = true;
      items.push(...changes.items);
      at = changes.at;
    }
    if (!watch.mustAsk) return { at, items };
    watch.mustAsk = false;
    try {
      const changes = await this.#reader.call<InboxChanges>('changes', { after: seen });
      this.#at = changes.at;
      return { at: changes.at, items: changes.items };
    } catch (error) {
      if (signal.aborted) return { at: seen, items };
      if (!isThreadDeath(error)) throw error;
      watch.mustAsk = true;
      return { at: seen, items, death: error };
    }
  }
}
