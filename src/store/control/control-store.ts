import { randomUUID } from 'node:crypto';
import { RepriseError } from '../../errors.ts';
import { parseSessionId } from '../../keys/ids.ts';
import { normalizeSessionKey } from '../../keys/session-key.ts';
import { assertStorable, isObject, type JsonObject } from '../../transcript/json.ts';
import type {
  AppendOptions,
  AppendReceipt,
  EntryPage,
  Inbound,
  Inbox,
  InboxItem,
  InboxReceipt,
  InboxState,
  Lease,
  LeaseInfo,
  LeaseOptions,
  ListQuery,
  NewEntry,
  ReadRange,
  SearchQuery,
  SearchResult,
  SessionInit,
  SessionPage,
  SessionRecord,
  Store,
  StoredEntry,
  StoreStats,
  StoreSupports,
  VerifyReport,
  WatchOptions,
} from '../store.ts';
import { ControlLease } from './control-lease.ts';
import type { ThreadEvent, ThreadOptions } from './protocol.ts';
import type { CheckedPage } from './reader.ts';
import { ThreadClient } from './thread-client.ts';
import { uuidv7 } from './uuid.ts';

export interface ControlStoreOptions extends Omit<ThreadOptions, 'role' | 'engineId'> {
  readonly supports: StoreSupports;
}

const DEFAULT_TTL_MS = 15_000;
const DEFAULT_WAIT_MS = 10_000;
const RETRY_MS = 50;

/** The port on two storage threads; memory, SQLite and JSONL differ only in the options they pass. */
export class ControlStore implements Store {
  readonly supports: StoreSupports;
  readonly inbox: Inbox;
  readonly #writer: ThreadClient;
  readonly #reader: ThreadClient;
  readonly #leases: Map<string, ControlLease> = new Map();
  /** Woken by any commit that may concern them. */
  readonly #sleepers: Set<() => void> = new Set();

  private constructor(writer: ThreadClient, reader: ThreadClient, supports: StoreSupports) {
    this.#writer = writer;
    this.#reader = reader;
    this.supports = supports;
    this.inbox = {
      receive: (inbound) => this.#receive(inbound),
      take: (id, { epoch }) => this.#writer.call<InboxItem | null>('take', { id, epoch }),
      settle: (inboxId, state, detail) => this.#settle(inboxId, state, detail),
      get: (inboxId) => this.#reader.call<InboxItem>('item', { inboxId }),
      pending: (sessionId) =>
        this.#reader.call<InboxItem[]>('pending', sessionId === undefined ? {} : { sessionId }),
    };
  }

  static async open({ supports, ...options }: ControlStoreOptions): Promise<ControlStore> {
    const inMemory = options.path === ':memory:';
    const shared = { ...options, engineId: randomUUID() };
    let store: ControlStore | undefined;
    const onEvent = (event: ThreadEvent): void => store?.handle(event);
    const writer = new ThreadClient({ ...shared, role: inMemory ? 'both' : 'writer' }, onEvent);
    await writer.ready;
    const reader = inMemory ? writer : new ThreadClient({ ...shared, role: 'reader' }, onEvent);
    await reader.ready;
    store = new ControlStore(writer, reader, supports);
    writer.unref();
    reader.unref();
    return store;
  }

  handle(event: ThreadEvent): void {
    if (event.event === 'changed') {
      const sleepers = [...this.#sleepers];
      this.#sleepers.clear();
      for (const wake of sleepers) wake();
    } else if (event.event === 'lost') {
      this.#leases.get(`${event.session}:${event.epoch}`)?.lose();
      this.#leases.delete(`${event.session}:${event.epoch}`);
    }
  }

  async create(init: SessionInit): Promise<SessionRecord> {
    const { id = uuidv7(), key, ...rest } = init;
    if (rest.settings !== undefined) checkObject(rest.settings, 'settings');
    return this.#writer.call('create', { ...rest, id: parseSessionId(id), key: normalizeSessionKey(key) });
  }

  async get(id: string): Promise<SessionRecord> {
    return this.#reader.call('get', { id: parseSessionId(id) });
  }

  async active(key: string): Promise<SessionRecord | undefined> {
    return this.#reader.call('active', { key: normalizeSessionKey(key) });
  }

  async activate(key: string, id: string): Promise<SessionRecord> {
    return this.#writer.call('activate', { key: normalizeSessionKey(key), id: parseSessionId(id) });
  }

  async list(query: ListQuery = {}): Promise<SessionPage> {
    return this.#reader.call('list', query);
  }

  async append(
    id: string,
    entries: readonly NewEntry[],
    options: AppendOptions = {},
  ): Promise<AppendReceipt> {
    checkEntries(entries);
    return this.#writer.call('append', { ...options, id: parseSessionId(id), entries });
  }

  async tail(id: string): Promise<EntryPage> {
    return this.#checked(id, await this.#reader.call<CheckedPage>('tail', { id: parseSessionId(id) }));
  }

  async read(id: string, range: ReadRange = {}): Promise<EntryPage> {
    return this.#checked(
      id,
      await this.#reader.call<CheckedPage>('read', { ...range, id: parseSessionId(id) }),
    );
  }

  async *watch(id: string, { afterSeq, signal }: WatchOptions): AsyncIterable<StoredEntry> {
    let seen = afterSeq;
    while (!signal.aborted) {
      // Asleep before looking: what is committed in between wakes us.
      const woken = this.#sleep(signal);
      const { entries } = await this.read(id, { from: seen + 1 });
      for (const stored of entries) {
        if (signal.aborted) return;
        seen = stored.seq;
        yield stored;
      }
      if (entries.length === 0) await woken;
    }
  }

  async lease(
    id: string,
    { ttlMs = DEFAULT_TTL_MS, waitMs = DEFAULT_WAIT_MS }: LeaseOptions = {},
  ): Promise<Lease> {
    const deadline = performance.now() + waitMs;
    for (;;) {
      try {
        const { epoch } = await this.#writer.call<{ epoch: number }>('acquire', {
          id: parseSessionId(id),
          ttlMs,
        });
        const lease = new ControlLease({ writer: this.#writer, sessionId: id, epoch });
        this.#leases.set(`${id}:${epoch}`, lease);
        return lease;
      } catch (error) {
        const isHeld = error instanceof RepriseError && error.code === 'LEASE_HELD';
        if (!isHeld || performance.now() >= deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  async leases(): Promise<readonly LeaseInfo[]> {
    return this.#reader.call('leases', {});
  }

  async patch(id: string, settings: JsonObject): Promise<SessionRecord> {
    checkObject(settings, 'settings');
    return this.#writer.call('patch', { id: parseSessionId(id), settings });
  }

  async delete(id: string): Promise<SessionRecord> {
    const record = await this.#writer.call<SessionRecord>('delete', { id: parseSessionId(id) });
    for (const [key, lease] of this.#leases) {
      if (lease.sessionId !== id) continue;
      lease.lose();
      this.#leases.delete(key);
    }
    return record;
  }

  async restore(id: string): Promise<SessionRecord> {
    return this.#writer.call('restore', { id: parseSessionId(id) });
  }

  async purge(id: string): Promise<void> {
    return this.#writer.call('purge', { id: parseSessionId(id) });
  }

  async search(query: SearchQuery): Promise<SearchResult> {
    return this.#reader.call('search', query);
  }

  async verify(id?: string): Promise<VerifyReport> {
    return this.#reader.call('verify', id === undefined ? {} : { id: parseSessionId(id) });
  }

  async stats(): Promise<StoreStats> {
    return this.#reader.call('stats', {});
  }

  async exportSession(id: string): Promise<Uint8Array> {
    return this.#reader.call('export', { id: parseSessionId(id) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const lease of this.#leases.values()) await lease.release().catch(() => null);
    this.#leases.clear();
    if (this.#reader !== this.#writer) await this.#reader.close();
    await this.#writer.close();
    for (const wake of this.#sleepers) wake();
  }

  /** Whoever meets damage tells the writer, so that nobody appends behind it. */
  async #checked(id: string, first: CheckedPage): Promise<EntryPage> {
    const { lastSeq, hasMore } = first;
    let { damagedAt } = first;
    const entries = [...first.entries];
    // A long page comes in parts, so that neither thread is kept from everything else by one message.
    for (let { rest } = first; rest !== undefined; ) {
      const part: CheckedPage = await this.#reader.call('more', { id, ...rest });
      for (const stored of part.entries) entries.push(stored);
      damagedAt ??= part.damagedAt;
      rest = part.rest;
    }
    if (damagedAt !== undefined) await this.#writer.call('damaged', { id, offset: damagedAt });
    return { entries, lastSeq, hasMore };
  }

  async #receive({ sessionKey, ...inbound }: Inbound): Promise<InboxReceipt> {
    checkObject(inbound.body, 'a message body');
    const ids = { inboxId: uuidv7(), sessionId: uuidv7() };
    return this.#writer.call('receive', { ...inbound, ...ids, sessionKey: normalizeSessionKey(sessionKey) });
  }

  async #settle(inboxId: string, state: InboxState, detail?: JsonObject): Promise<void> {
    if (detail !== undefined) checkObject(detail, 'a detail');
    await this.#writer.call('settle', { inboxId, state, ...(detail !== undefined && { detail }) });
  }

  #sleep(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        signal.removeEventListener('abort', wake);
        this.#sleepers.delete(wake);
        resolve();
      };
      this.#sleepers.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}

/** On this side of the thread, because a structured clone would already have changed what cannot be stored. */
function checkEntries(entries: readonly NewEntry[]): void {
  for (const entry of entries as readonly unknown[]) {
    checkObject(entry, 'an entry');
    const { type, id } = entry;
    if (typeof type !== 'string' || type === '' || type === 'session') {
      throw new RepriseError('INVALID_INPUT', 'an entry has a type, and only the store writes headers');
    }
    if (id !== undefined) throw new RepriseError('INVALID_INPUT', 'ids of entries are given by the store');
  }
}

function checkObject(value: unknown, what: string): asserts value is JsonObject {
  if (!isObject(value)) throw new RepriseError('INVALID_INPUT', `${what} is an object`);
  assertStorable(value);
}
