import { normalizeSessionKey } from '../../keys/session-key.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type {
  Inbound,
  InboundKey,
  Inbox,
  InboxItem,
  InboxReceipt,
  InboxState,
  InboxWatchOptions,
  PendingQuery,
  RecountOptions,
  TakeOptions,
} from '../port/store.ts';
import { checkObject } from '../rules/check-input.ts';
import { receiveRequest } from '../rules/inbound.ts';
import { Sleepers } from '../shared/sleepers.ts';
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

/** The inbox of a store with a writer and a reader thread. */
export class ControlInbox implements Inbox {
  readonly #writer: ThreadClient;
  readonly #reader: ThreadClient;
  readonly #closing: AbortSignal;
  readonly #sleepers: Sleepers = new Sleepers();
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

  watch({ signal }: InboxWatchOptions): AsyncIterable<string> {
    // Changes count from this call on, even if the caller starts its loop later.
    return this.#changes(this.#at, AbortSignal.any([signal, this.#closing]));
  }

  /** Wakes the watchers after a call that may have changed the inbox, whether it succeeded or failed. */
  async waking<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } finally {
      this.wake();
    }
  }

  wake(): void {
    this.#sleepers.wake(null);
  }

  async *#changes(after: number, signal: AbortSignal): AsyncGenerator<string> {
    let seen = after;
    let deaths = 0;
    while (!signal.aborted) {
      // Subscribe before reading, so that a commit in between wakes the watch.
      using sleep = this.#sleepers.sleep('', signal);
      let changes: InboxChanges;
      try {
        changes = await this.#reader.call<InboxChanges>('changes', { after: seen });
        deaths = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (!isThreadDeath(error) || ++deaths > MAX_READ_DEATHS) throw error;
        continue;
      }
      seen = changes.at;
      this.#at = seen;
      for (const id of changes.sessions) {
        if (signal.aborted) return;
        yield id;
      }
      // The subscription began before the read, so every later change has woken it or will.
      await sleep.woken;
    }
  }
}
