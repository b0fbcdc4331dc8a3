/* This file is longer than most: it implements the port method by method, and each method takes a line or two. */

import { randomUUID } from 'node:crypto';
import { parseNewSessionId, parseSessionId } from '../../keys/ids.ts';
import { normalizeSessionKey } from '../../keys/session-key.ts';
import { blobHash } from '../../transcript/blobs.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type { Convlog, ConvlogLinePage, ConvlogPage } from '../port/convlog.ts';
import type { InboxItem } from '../port/inbox.ts';
import type { LinePart, LineRange } from '../port/line-part.ts';
import type { Note, NotePage, Notes } from '../port/notes.ts';
import type { PurgeOptions, PurgeReceipt } from '../port/purge.ts';
import type { SearchQuery, SearchResult } from '../port/search.ts';
import type { SourcePage, SourceRecord, Sources } from '../port/sources.ts';
import type { SearchIndexStats } from '../port/stats.ts';
import type {
  ActivateOptions,
  AppendOptions,
  AppendReceipt,
  ChangeOptions,
  EntryPage,
  Lease,
  LeaseInfo,
  LeaseOptions,
  ListQuery,
  LiveEvent,
  LiveOptions,
  NewEntry,
  PatchOptions,
  ReadRange,
  RebuildProgress,
  SessionInit,
  SessionPage,
  SessionRecord,
  StatsOptions,
  Store,
  StoredEntry,
  StoreStats,
  StoreSupports,
  TailOptions,
  WatchOptions,
} from '../port/store.ts';
import type { Transfer, TransferPage, TransferState } from '../port/transfer.ts';
import type { ChangedRows, Turns } from '../port/turns.ts';
import type { VerifyFinding, VerifyOptions, VerifyReport } from '../port/verify-report.ts';
import {
  checkAppendOptions,
  checkChat,
  checkEntries,
  checkKey,
  checkLog,
  checkMark,
  checkNoteName,
  checkNotes,
  checkPatch,
  checkSessionInit,
  checkSource,
} from '../rules/check-input.ts';
import { receiveRequest } from '../rules/inbound.ts';
import { storeClosed } from '../rules/refusals.ts';
import { type EndReceipt, isChanged, type TurnStart } from '../rules/turn-rule.ts';
import { verdict } from '../rules/verdict.ts';
import { checkSearch } from '../search/search-query.ts';
import { LiveHub } from '../shared/live-hub.ts';
import { Sleepers } from '../shared/sleepers.ts';
import {
  acquireInTime,
  DEFAULT_LEASE_TTL_MS,
  DEFAULT_LEASE_WAIT_MS,
  StoreLease,
} from '../shared/store-lease.ts';
import { DEFAULT_CACHE_TTL_MS } from '../shared/tail-cache.ts';
import { uuidv7 } from '../shared/uuid.ts';
import { ControlInbox } from './control-inbox.ts';
import { KeptTails } from './read/kept-tails.ts';
import type { CheckedPage, PageRange, ShownTail, TailPage } from './read/reader.ts';
import type { VerifyPart } from './read/scan.ts';
import { SearchClient } from './search/search-client.ts';
import type { HeldLease, ThreadEvent, ThreadOptions } from './threads/protocol.ts';
import { parkBeforeStop } from './threads/stop-signal.ts';
import { isThreadDeath, ThreadClient } from './threads/thread-client.ts';
import { wholePage } from './threads/whole-page.ts';
import type { Erased } from './write/erasure.ts';
import type { InboxChanges } from './write/inbox-rows.ts';

export interface ControlStoreOptions extends Omit<ThreadOptions, 'role' | 'engineId' | 'leases'> {
  readonly supports: StoreSupports;
  /** Whether Ctrl-Z waits for the running transaction. */
  readonly signals?: boolean;
  /** Called after another program's changes to `sessions.json` were found; the edited file was moved to this path. */
  readonly onEdited?: (file: string) => void;
}

interface ControlStoreParts {
  readonly writer: ThreadClient;
  readonly reader: ThreadClient;
  readonly supports: StoreSupports;
  readonly path: string;
  readonly rebuilding: boolean;
  readonly inboxAt: number;
  readonly searching: SearchClient | undefined;
  readonly tails: KeptTails;
}

/** A watch gives up after its thread died this many times in a row. */
const MAX_READ_DEATHS = 3;

/** Used if the disk fails, so that the progress of the rebuild is unknown. */
const UNKNOWN_PROGRESS: RebuildProgress = { done: 0, total: 0, listed: 0 };

/**
 * Implements the port with a writer and a reader thread. The memory, SQLite and JSONL stores differ only in their
 * options.
 */
export class ControlStore implements Store {
  readonly supports: StoreSupports;
  readonly inbox: ControlInbox;
  readonly turns: Turns;
  readonly convlog: Convlog;
  readonly notes: Notes;
  readonly sources: Sources;
  readonly transfer: Transfer;
  readonly #writer: ThreadClient;
  readonly #reader: ThreadClient;
  readonly #tails: KeptTails;
  readonly #leases: Map<string, StoreLease> = new Map();
  readonly #live: LiveHub;
  readonly #searching: SearchClient | undefined;
  readonly #closing: AbortController = new AbortController();
  readonly #sleepers: Sleepers = new Sleepers();
  #unpark: () => void = () => {};

  /** True until the writer reports `rebuilt`: until then the reader's index may lack content of the transcripts. */
  #rebuilding: boolean;
  #wasComplete: boolean;

  private constructor(parts: ControlStoreParts) {
    const { writer, reader, supports, path, rebuilding, inboxAt, searching, tails } = parts;
    this.#writer = writer;
    this.#reader = reader;
    this.#tails = tails;
    this.supports = supports;
    this.#searching = searching;
    this.#live = LiveHub.of(path);
    this.#rebuilding = rebuilding;
    this.#wasComplete = !rebuilding;
    this.inbox = new ControlInbox({ writer, reader, at: inboxAt, closing: this.#closing.signal });
    this.turns = {
      begin: async (sessionId, plan) => {
        const id = parseSessionId(sessionId);
        for (const { entries } of plan.inputs) checkEntries(entries);
        const start = await this.inbox.waking(
          this.#writer.call<TurnStart | ChangedRows>('begin', { ...plan, id }),
        );
        if (isChanged(start) || 'epoch' in plan.lease) return start;
        return { ...start, lease: this.#keepLease(id, start.epoch, plan.lease.ttlMs) };
      },
      end: async ({ sessionId, epoch }, entries, options) => {
        const request = { ...appendRequest(sessionId, entries, options), epoch };
        const end = await this.inbox.waking(this.#writer.call<EndReceipt>('end', request));
        if (end.released) this.#leases.get(`${sessionId}:${epoch}`)?.ended();
        return end;
      },
    };
    this.convlog = {
      append: async (lines) => this.#writer.call<void>('log', { log: checkLog(lines) }),
      list: async (query = {}) => this.#reader.call<ConvlogPage>('chats', query),
      read: async (chat, range = {}) => this.#look<ConvlogLinePage>('chat', { chat: checkChat(chat), range }),
    };
    this.notes = {
      list: async (name, options = {}) =>
        this.#reader.call<NotePage>('noted', { ...options, name: checkNoteName(name) }),
      get: async (name, id) =>
        this.#reader.call<Note | undefined>('note', { name: checkNoteName(name), id: parseSessionId(id) }),
      put: async (name, notes) =>
        this.#writer.call<void>('notes', { name: checkNoteName(name), notes: checkNotes(notes) }),
    };
    this.sources = {
      find: async (source) => this.#look<SourceRecord | undefined>('source', checkSource(source)),
      of: async (id) => this.#look<SourceRecord | undefined>('source', { sessionId: parseSessionId(id) }),
      list: async (options = {}) => this.#look<SourcePage>('sources', options),
      mark: async (id, mark) =>
        this.#writer.call<void>('mark', { ...checkMark(mark), id: parseSessionId(id) }),
      entries: async (id, sourceIds) =>
        this.#look<ReadonlyMap<string, number>>('sourced', { id: parseSessionId(id), sourceIds }),
    };
    this.transfer = {
      read: async (cursor) => this.#look<TransferPage>('records', cursor === undefined ? {} : { cursor }),
      write: async (records, note) => this.#writer.call<void>('transfer', { ...note, records }),
      finish: async (run, options = {}) => this.#writer.call<void>('finish', { ...options, run }),
      held: async () => this.#reader.call<InboxItem[]>('held', {}),
      release: async (options = {}) => this.inbox.waking(this.#writer.call<number>('unhold', options)),
      state: async () => this.#look<TransferState>('copied', {}),
    };
  }

  static async open({
    supports,
    signals = false,
    onEdited,
    ...options
  }: ControlStoreOptions): Promise<ControlStore> {
    const inMemory = options.path === ':memory:';
    const shared = { ...options, engineId: randomUUID() };
    let store: ControlStore | undefined;
    let rebuilding = true;
    const onEvent = (event: ThreadEvent): void => {
      if (event.event === 'rebuilt') rebuilding = false;
      else if (event.event === 'edited') onEdited?.(event.file);
      store?.handle(event);
    };
    const writer = new ThreadClient({
      thread: () => ({
        ...shared,
        role: inMemory ? 'both' : 'writer',
        ...(store !== undefined && { leases: store.heldLeases() }),
      }),
      onEvent,
      onRestart: (isAlive) => {
        if (!isAlive) store?.goOnWithoutWriter();
        // A new writer compares index and transcripts again and reports when it is done.
        if (isAlive) store?.expectRebuild();
        // Wake all waiters: something may have been committed while no thread could report it.
        store?.handle({ event: 'changed', sessions: null });
      },
    });
    // Both start in parallel. The reader opens the database only after the writer has prepared it.
    const reader = inMemory
      ? writer
      : new ThreadClient({
          thread: () => ({ ...shared, role: 'reader' }),
          after: writer.ready,
          onEvent,
          onRestart: () => undefined,
        });
    let inboxAt = 0;
    try {
      await Promise.all([writer.ready, reader.ready]);
      ({ at: inboxAt } = await reader.call<InboxChanges>('changes', {}));
    } catch (error) {
      // Close both threads: otherwise the open one would hold its files until the process ends.
      await Promise.all([reader.close(), writer.close()]);
      throw error;
    }
    const searching =
      supports.search === 'index' ? new SearchClient(() => ({ ...shared, role: 'searcher' })) : undefined;
    const { path, cacheTtlMs = DEFAULT_CACHE_TTL_MS } = options;
    const tails = new KeptTails(cacheTtlMs);
    store = new ControlStore({ writer, reader, supports, path, rebuilding, inboxAt, searching, tails });
    writer.unref();
    reader.unref();
    if (signals && supports.shared) store.#unpark = parkBeforeStop(store);
    return store;
  }

  /** Stops all threads outside any transaction. @returns a function that lets them continue. */
  async park(): Promise<() => void> {
    const threads = [this.#writer, this.#reader, ...(this.#searching === undefined ? [] : [this.#searching])];
    const gates = await Promise.all(threads.map((thread) => thread.park()));
    return () => {
      for (const open of gates) open();
    };
  }

  handle(event: ThreadEvent): void {
    if (event.event === 'changed') {
      this.#searching?.noteChange();
      this.#sleepers.wake(event.sessions);
      if (event.sessions === null) this.inbox.wake();
      else if (event.inbox !== undefined) this.inbox.changed(event.inbox);
    } else if (event.event === 'lost') {
      this.#leases.get(`${event.session}:${event.epoch}`)?.lose();
    } else if (event.event === 'rebuilt') {
      this.#rebuilding = false;
      this.#wasComplete = true;
    }
  }

  expectRebuild(): void {
    this.#rebuilding = true;
  }

  /**
   * Called when the writer will not be restarted. An index that was complete once stays readable. One that never was
   * complete would report existing sessions as missing, so each caller receives the writer's error instead.
   */
  goOnWithoutWriter(): void {
    this.loseLeases();
    if (this.#wasComplete) this.#rebuilding = false;
  }

  /** The leases that a new writer thread must keep alive. */
  heldLeases(): HeldLease[] {
    return [...this.#leases.values()].map(({ sessionId, epoch, ttlMs }) => ({ id: sessionId, epoch, ttlMs }));
  }

  /** Marks the leases of one session, or all leases, as lost: no thread sends their heartbeats any more. */
  loseLeases(id?: string): void {
    for (const lease of [...this.#leases.values()])
      if (id === undefined || lease.sessionId === id) lease.lose();
  }

  async create(init: SessionInit): Promise<SessionRecord> {
    const { id = uuidv7(), key, ...rest } = init;
    checkSessionInit(rest);
    return this.#writer.call('create', { ...rest, id: parseNewSessionId(id), key: normalizeSessionKey(key) });
  }

  async get(id: string): Promise<SessionRecord> {
    return this.#look('get', { id: parseSessionId(id) });
  }

  async active(key: string): Promise<SessionRecord | undefined> {
    return this.#look('active', { key: normalizeSessionKey(key) });
  }

  async activate(
    key: string,
    id: string,
    { reason, key: appendKey }: ActivateOptions = {},
  ): Promise<SessionRecord> {
    checkKey(appendKey);
    return this.#writer.call('activate', {
      key: normalizeSessionKey(key),
      id: parseSessionId(id),
      ...(reason !== undefined && { reason }),
      ...(appendKey !== undefined && { appendKey }),
    });
  }

  async list(query: ListQuery = {}): Promise<SessionPage> {
    // Without a writer, the list shows what the index has.
    if (this.#rebuilding)
      await this.#writer.call('prepare', { op: 'list', args: query }).catch(() => undefined);
    // Read the progress before the list: sessions read in between make the list longer, but never wrongly complete.
    const rebuilding = await this.#rebuildProgress().catch(() => UNKNOWN_PROGRESS);
    const page = await this.#reader.call<SessionPage>('list', query);
    return { ...page, ...(rebuilding !== undefined && { rebuilding }) };
  }

  async append(
    id: string,
    entries: readonly NewEntry[],
    options: AppendOptions = {},
  ): Promise<AppendReceipt> {
    const { settle, deliver } = options;
    const receipt = this.#writer.call<AppendReceipt>('append', appendRequest(id, entries, options));
    return settle === undefined && deliver === undefined ? receipt : this.inbox.waking(receipt);
  }

  async tail(id: string, options: TailOptions = {}): Promise<EntryPage> {
    const sessionId = parseSessionId(id);
    if (options.limit !== undefined || options.only !== undefined)
      return this.#checked(id, await this.#look<CheckedPage>('tail', { ...options, id: sessionId }));
    const look = (shown?: ShownTail) => this.#look<TailPage>('tail', { id: sessionId, shown });
    return this.#checked(id, await this.#tails.complete(id, look));
  }

  async read(id: string, range: ReadRange = {}): Promise<EntryPage> {
    return this.#checked(id, await this.#look<CheckedPage>('read', { ...range, id: parseSessionId(id) }));
  }

  async blob(id: string, hash: string): Promise<Uint8Array> {
    return this.#look('blob', { id: parseSessionId(id), hash: blobHash(hash) });
  }

  async *watch(id: string, { afterSeq, signal }: WatchOptions): AsyncIterable<StoredEntry> {
    let seen = afterSeq;
    let deaths = 0;
    while (!signal.aborted) {
      // Subscribe before reading, so that a commit in between wakes the watch.
      using sleep = this.#sleepers.sleep(id, signal);
      let page: EntryPage;
      try {
        page = await this.read(id, { from: seen + 1 });
        deaths = 0;
      } catch (error) {
        // A watch survives the death of its storage thread, unless its own reads keep killing the thread.
        if (!isThreadDeath(error) || ++deaths > MAX_READ_DEATHS) throw error;
        continue;
      }
      for (const stored of page.entries) {
        if (signal.aborted) return;
        seen = stored.seq;
        yield stored;
      }
      if (!page.hasMore || page.entries.length === 0) await sleep.woken;
    }
  }

  async publish(id: string, event: JsonObject): Promise<void> {
    this.#closing.signal.throwIfAborted();
    this.#live.publish(parseSessionId(id), event);
  }

  live(id: string, { signal }: LiveOptions): AsyncIterable<LiveEvent> {
    return this.#live.listen(parseSessionId(id), AbortSignal.any([signal, this.#closing.signal]));
  }

  async lease(
    id: string,
    { ttlMs = DEFAULT_LEASE_TTL_MS, waitMs = DEFAULT_LEASE_WAIT_MS }: LeaseOptions = {},
  ): Promise<Lease> {
    const asked = { id: parseSessionId(id), ttlMs };
    const { epoch } = await acquireInTime(waitMs, () =>
      this.#writer.call<{ epoch: number }>('acquire', asked),
    );
    return this.#keepLease(id, epoch, ttlMs);
  }

  #keepLease(id: string, epoch: number, ttlMs: number = DEFAULT_LEASE_TTL_MS): StoreLease {
    const name = `${id}:${epoch}`;
    const known = this.#leases.get(name);
    if (known !== undefined) return known;
    const onOver = (): void => void this.#leases.delete(name);
    const lease = new StoreLease({
      beat: () => this.#writer.call('beat', { id, epoch }),
      release: (options) => this.#writer.call('release', { id, epoch, ...options }),
      sessionId: id,
      epoch,
      ttlMs,
      onOver,
    });
    this.#leases.set(name, lease);
    return lease;
  }

  async leases(): Promise<readonly LeaseInfo[]> {
    return this.#reader.call('leases', {});
  }

  async patch(id: string, settings: JsonObject, options: PatchOptions = {}): Promise<SessionRecord> {
    checkPatch(settings, options);
    return this.#writer.call('patch', { ...options, id: parseSessionId(id), settings });
  }

  async delete(id: string, options: ChangeOptions = {}): Promise<SessionRecord> {
    const deleting = this.#writer.call<SessionRecord>('delete', { ...options, id: parseSessionId(id) });
    const record = await this.inbox.waking(deleting);
    this.loseLeases(id);
    return record;
  }

  async restore(id: string, options: ChangeOptions = {}): Promise<SessionRecord> {
    return this.#writer.call('restore', { ...options, id: parseSessionId(id) });
  }

  async purge(id: string, options: PurgeOptions = {}): Promise<PurgeReceipt> {
    const { files, isIndexed } = await this.#writer.call<Erased>('purge', {
      ...options,
      id: parseSessionId(id),
    });
    if (isIndexed) await this.#searching?.forget();
    return { files };
  }

  async search(query: SearchQuery): Promise<SearchResult> {
    checkSearch(query);
    return (await this.#searching?.search(query)) ?? this.#reader.call('search', query);
  }

  async reindex(): Promise<void> {
    // A store without an index has nothing to do; the request only reports a closed store.
    await (this.#searching?.reindex() ?? this.#reader.call('changes', {}));
  }

  async verify(id?: string, { onProgress }: VerifyOptions = {}): Promise<VerifyReport> {
    const findings: VerifyFinding[] = [];
    const only = id === undefined ? {} : { id: parseSessionId(id) };
    let done = 0;
    for (let after: string | undefined = ''; after !== undefined; ) {
      const part: VerifyPart = await this.#look<VerifyPart>('verify', { ...only, after });
      findings.push(...part.findings);
      done += part.done;
      if (id === undefined) onProgress?.(done, part.total);
      after = part.next;
    }
    return { status: verdict(findings), findings };
  }

  async stats({ search = false }: StatsOptions = {}): Promise<StoreStats> {
    // Only the writer thread knows why a transcript is behind.
    const stats = await this.#writer.call<StoreStats>('stats', {});
    const rebuilding = await this.#rebuildProgress();
    const index =
      search && this.#searching !== undefined
        ? await this.#reader.call<SearchIndexStats>('index', {})
        : undefined;
    const problem = this.#searching?.problem;
    return {
      ...stats,
      ...(rebuilding !== undefined && { rebuilding }),
      ...(index !== undefined && { search: { ...index, ...(problem !== undefined && { problem }) } }),
    };
  }

  async exportSession(id: string): Promise<Uint8Array> {
    return this.#look('export', { id: parseSessionId(id) });
  }

  async exportLines(id: string, range: LineRange): Promise<LinePart> {
    const asked = { ...range, id: parseSessionId(id) };
    const { damagedAt, ...part } = await this.#look<LinePart & { damagedAt?: number }>('lines', asked);
    if (damagedAt !== undefined) await this.#writer.call('damaged', { id, offset: damagedAt });
    return part;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unpark();
    if (!this.#closing.signal.aborted) this.#live.leave();
    this.#closing.abort(storeClosed());
    for (const lease of [...this.#leases.values()]) await lease.release().catch(() => null);
    this.#leases.clear();
    // The reading threads stop together, so that a long read does not delay the close. The writer ends last.
    await Promise.all([this.#searching?.close(), this.#reader === this.#writer || this.#reader.close()]);
    await this.#writer.close();
    this.#sleepers.wake(null);
  }

  async #rebuildProgress(): Promise<RebuildProgress | undefined> {
    return this.#rebuilding ? this.#writer.call<RebuildProgress | undefined>('progress', {}) : undefined;
  }

  /** Asks the reader. During a rebuild, the writer first reads the transcripts that the answer needs. */
  async #look<T>(op: string, args: unknown): Promise<T> {
    if (this.#rebuilding) await this.#writer.call('prepare', { op, args });
    return this.#reader.call(op, args);
  }

  /** Reports damage that a read found to the writer, so that no append follows the damaged lines. */
  async #checked(id: string, first: CheckedPage): Promise<EntryPage> {
    const more = (rest: PageRange) => this.#reader.call<CheckedPage>('more', { id, ...rest });
    const { page, damagedAt } = await wholePage(first, more);
    if (damagedAt !== undefined) await this.#writer.call('damaged', { id, offset: damagedAt });
    return page;
  }
}

function appendRequest<T extends AppendOptions>(
  id: string,
  entries: readonly NewEntry[],
  options: T,
): T & { readonly id: string; readonly entries: readonly NewEntry[] } {
  checkEntries(entries);
  checkAppendOptions(options);
  const { log, deliver } = options;
  return {
    ...options,
    id: parseSessionId(id),
    entries,
    ...(log !== undefined && { log: checkLog(log) }),
    ...(deliver !== undefined && { deliver: deliver.map(receiveRequest) }),
  };
}
