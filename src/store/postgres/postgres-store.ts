/* This file is longer than most: it implements the port method by method, and each method takes a line or two. */

import { RepriseError } from '../../errors.ts';
import { parseNewSessionId, parseSessionId } from '../../keys/ids.ts';
import { normalizeSessionKey } from '../../keys/session-key.ts';
import { failure } from '../../messages/failure.ts';
import { blobHash } from '../../transcript/blobs.ts';
import type { JsonObject } from '../../transcript/json.ts';
import type { Convlog } from '../port/convlog.ts';
import type { Inbox } from '../port/inbox.ts';
import type { LinePart, LineRange } from '../port/line-part.ts';
import type { Notes } from '../port/notes.ts';
import type { PurgeOptions, PurgeReceipt } from '../port/purge.ts';
import type { SearchQuery, SearchResult } from '../port/search.ts';
import type { Sources } from '../port/sources.ts';
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
import type { Transfer } from '../port/transfer.ts';
import type { BegunTurn, ChangedRows, TurnPlan, Turns } from '../port/turns.ts';
import type { VerifyOptions, VerifyReport } from '../port/verify-report.ts';
import {
  checkAppendOptions,
  checkEntries,
  checkKey,
  checkLog,
  checkPatch,
  checkSessionInit,
} from '../rules/check-input.ts';
import { receiveRequest } from '../rules/inbound.ts';
import { storeClosed } from '../rules/refusals.ts';
import { recordOf } from '../rules/session-state.ts';
import { isChanged } from '../rules/turn-rule.ts';
import { sha256 } from '../shared/sha256.ts';
import {
  acquireInTime,
  DEFAULT_LEASE_TTL_MS,
  DEFAULT_LEASE_WAIT_MS,
  StoreLease,
} from '../shared/store-lease.ts';
import { uuidv7 } from '../shared/uuid.ts';
import { LiveRelay } from './connection/live-relay.ts';
import type { ServerClock } from './connection/server-clock.ts';
import { type StoreContext, transaction } from './connection/transaction.ts';
import type { Tx } from './connection/tx.ts';
import type { Wakes } from './connection/wakes.ts';
import { transferState } from './copy/copies.ts';
import { readTransfer } from './copy/transfer-read.ts';
import { finishTransfer, writeTransfer } from './copy/transfer-write.ts';
import { keepHouse } from './keep-house.ts';
import { LineReader } from './lines.ts';
import { listSessions } from './list.ts';
import { postgresNotes } from './notes.ts';
import { PostgresConvlog } from './postgres-convlog.ts';
import { PostgresInbox } from './postgres-inbox.ts';
import { getSession, lockSession, type SessionRow } from './rows.ts';
import { countAll, exportLines, exportSession, verifySessions } from './scan.ts';
import { searchSessions } from './search/search.ts';
import type { SearchIndexer } from './search/search-indexer.ts';
import {
  activateSession,
  deleteSession,
  openSession,
  patchSession,
  purgeSession,
  restoreSession,
} from './sessions.ts';
import { postgresSources } from './sources.ts';
import { activeSession, canonicalKey } from './write/active.ts';
import type { FullAppendRequest } from './write/append-batch.ts';
import { AppendWriter } from './write/append-writer.ts';
import { heldItems, releaseHeld } from './write/inbox-rows.ts';
import { LeaseKeeper } from './write/lease-keeper.ts';
import { LeaseRefusals } from './write/lease-refusals.ts';
import { acquireLease, listLeases, releaseLease, renewLease } from './write/leases.ts';
import { beginTurn } from './write/turns.ts';

export interface PostgresStoreParts {
  readonly context: StoreContext;
  readonly wakes: Wakes;
  /** Unset if this node does not index. Searches then read what no other node has indexed. */
  readonly indexer: SearchIndexer | undefined;
  readonly durability: 'disk' | 'os';
  readonly clock: ServerClock;
  readonly cacheTtlMs?: number;
}

/** Extra time for the answer of a slow server, on top of the caller's time limit for a lease. */
const LOCK_GRACE_MS = 1000;

/** Implements the port on one database that many nodes share. */
export class PostgresStore implements Store {
  readonly supports: StoreSupports;
  readonly inbox: Inbox;
  readonly turns: Turns;
  readonly convlog: Convlog;
  readonly notes: Notes;
  readonly sources: Sources;
  readonly transfer: Transfer;
  readonly #context: StoreContext;
  readonly #wakes: Wakes;
  readonly #writer: AppendWriter;
  readonly #lines: LineReader;
  readonly #leases: LeaseKeeper;
  readonly #live: LiveRelay;
  readonly #refusals: LeaseRefusals;
  readonly #indexer: SearchIndexer | undefined;
  readonly #closing: AbortController;

  private constructor(
    { context, wakes, indexer, durability, clock, cacheTtlMs }: PostgresStoreParts,
    inbox: Inbox,
    closing: AbortController,
  ) {
    const { connections, self } = context;
    this.#closing = closing;
    this.supports = {
      search: indexer === undefined ? 'scan' : 'index',
      durability,
      shared: true,
      live: 'all',
    };
    this.#context = context;
    this.#wakes = wakes;
    this.#indexer = indexer;
    this.#writer = new AppendWriter(context);
    this.#lines = new LineReader(connections, {
      onDamage: (row, seq) => this.#noteDamage(row, seq),
      timeline: context.timeline,
      cacheTtlMs,
    });
    this.#leases = new LeaseKeeper(connections, self);
    this.#refusals = new LeaseRefusals(connections, self);
    const { engineId } = self;
    this.#live = new LiveRelay({ connections, wakes, engineId, closing: closing.signal, clock });
    this.inbox = inbox;
    this.turns = {
      begin: (sessionId, plan) => this.#begin(parseSessionId(sessionId), plan),
      end: async ({ sessionId, epoch }, entries, options) => {
        const {
          rows = [],
          released = false,
          ...receipt
        } = await this.#writer.append({
          ...appendRequest(sessionId, entries, { ...options, epoch }),
          release: options.release,
        });
        const isReleased = ({ sessionId: id, epoch: of }: StoreLease): boolean =>
          id === sessionId && of === epoch;
        if (released) this.#leases.leases.find(isReleased)?.ended();
        return { ...receipt, rows, released };
      },
    };
    this.convlog = new PostgresConvlog(context);
    this.notes = postgresNotes(context);
    this.sources = postgresSources(context);
    this.transfer = {
      read: (cursor) => readTransfer(connections, cursor),
      write: (records, note) =>
        transaction(context, (tx) => writeTransfer(tx, records, note), { isCopy: true }),
      finish: (run, options = {}) =>
        transaction(context, (tx) => finishTransfer(tx, run, options), { isCopy: true }),
      held: () => heldItems(context.connections),
      release: (options = {}) => transaction(context, (tx) => releaseHeld(tx, options)),
      state: () => transferState(connections),
    };
    if (!connections.settings.readOnly) keepHouse(context, closing.signal);
  }

  static async open(parts: PostgresStoreParts): Promise<PostgresStore> {
    const { context, wakes } = parts;
    const closing = new AbortController();
    const inbox = await PostgresInbox.open({ context, wakes, closing: closing.signal });
    return new PostgresStore(parts, inbox, closing);
  }

  async create({ id = uuidv7(), key, ...rest }: SessionInit): Promise<SessionRecord> {
    checkSessionInit(rest);
    const init = { ...rest, id: parseNewSessionId(id), key: normalizeSessionKey(key) };
    return this.#write((tx) => openSession(tx, init));
  }

  async get(id: string): Promise<SessionRecord> {
    const { connections } = this.#context;
    const row = await getSession(connections, parseSessionId(id));
    return recordOf(row, (await activeSession(connections, row.key)) === row.id);
  }

  async active(key: string): Promise<SessionRecord | undefined> {
    const { connections } = this.#context;
    const id = await activeSession(connections, canonicalKey(normalizeSessionKey(key)));
    return id === undefined ? undefined : this.get(id);
  }

  async activate(
    key: string,
    id: string,
    { key: appendKey, ...options }: ActivateOptions = {},
  ): Promise<SessionRecord> {
    checkKey(appendKey);
    const keyed = appendKey === undefined ? {} : { appendKey };
    const request = { ...options, ...keyed, key: normalizeSessionKey(key), id: parseSessionId(id) };
    return this.#write((tx) => activateSession(tx, request));
  }

  async list(query: ListQuery = {}): Promise<SessionPage> {
    return listSessions(this.#context.connections, query);
  }

  async append(
    id: string,
    entries: readonly NewEntry[],
    options: AppendOptions = {},
  ): Promise<AppendReceipt> {
    return this.#writer.append(appendRequest(id, entries, options));
  }

  async tail(id: string, options: TailOptions = {}): Promise<EntryPage> {
    return this.#lines.tail(parseSessionId(id), options);
  }

  async read(id: string, range: ReadRange = {}): Promise<EntryPage> {
    return this.#lines.read(parseSessionId(id), range);
  }

  /** Returns a blob. Bytes that do not match the hash are reported as damage, never returned. */
  async blob(id: string, name: string): Promise<Uint8Array> {
    const { connections } = this.#context;
    const hash = blobHash(name);
    await getSession(connections, parseSessionId(id));
    const [row] = await connections.query<{ bytes: Uint8Array }>(
      'SELECT bytes FROM reprise.blobs WHERE session_id = $1 AND hash = $2',
      [id, hash],
    );
    const details = { id, blob: `sha256:${hash}` };
    if (row === undefined) throw failure('NOT_FOUND', 'blob.missing', details, { details });
    if (sha256(row.bytes) !== hash) throw failure('STORE_CORRUPT', 'blob.damaged', details, { details });
    return new Uint8Array(row.bytes);
  }

  async *watch(id: string, { afterSeq, signal }: WatchOptions): AsyncIterable<StoredEntry> {
    this.#wakes.begin();
    let seen = afterSeq;
    const over = AbortSignal.any([signal, this.#closing.signal]);
    while (!signal.aborted) {
      this.#closing.signal.throwIfAborted();
      // Subscribe before reading, so that a commit in between wakes the watch.
      using sleep = this.#wakes.sessions.sleep(id, over);
      let entries: readonly StoredEntry[] = [];
      try {
        ({ entries } = await this.read(id, { from: seen + 1 }));
      } catch (error) {
        // A watch survives an unreachable server; the poll wakes it again.
        if (this.#closing.signal.aborted || !isPassing(error)) throw error;
        this.#wakes.lookAgain(id);
      }
      for (const stored of entries) {
        if (signal.aborted) return;
        seen = stored.seq;
        yield stored;
      }
      if (entries.length === 0) await sleep.woken;
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
    const sessionId = parseSessionId(id);
    return acquireInTime(waitMs, async (leftMs) => {
      await this.#refusals.look(sessionId);
      const askedAt = performance.now();
      const grant = async (): Promise<Lease> => {
        const asked = this.#write((tx) => acquireLease(tx, { id: sessionId, ttlMs, lockMs: leftMs }));
        const lease = this.#leaseOf(sessionId, await this.#refusals.note(sessionId, asked), ttlMs);
        this.#leases.keep(lease, askedAt);
        return lease;
      };
      return inTime(leftMs + LOCK_GRACE_MS, grant(), sessionId);
    });
  }

  async #begin(id: string, plan: TurnPlan): Promise<BegunTurn | ChangedRows> {
    for (const { entries } of plan.inputs) checkEntries(entries);
    const request = { ...structuredClone(plan), id };
    const { lease } = plan;
    if ('epoch' in lease) return this.#write((tx) => beginTurn(tx, request));
    await this.#refusals.look(id);
    const askedAt = performance.now();
    const asked = this.#write((tx) => beginTurn(tx, request));
    const start = await this.#refusals.note(id, asked);
    if (isChanged(start)) return start;
    const granted = this.#leaseOf(id, start.epoch, lease.ttlMs ?? DEFAULT_LEASE_TTL_MS);
    this.#leases.keep(granted, askedAt);
    return { ...start, lease: granted };
  }

  async leases(): Promise<readonly LeaseInfo[]> {
    return listLeases(this.#context.connections, this.#context.self);
  }

  async patch(id: string, settings: JsonObject, options: PatchOptions = {}): Promise<SessionRecord> {
    checkPatch(settings, options);
    const request = { ...options, id: parseSessionId(id), settings };
    return this.#write((tx) => patchSession(tx, request));
  }

  async delete(id: string, options: ChangeOptions = {}): Promise<SessionRecord> {
    const request = { ...options, id: parseSessionId(id) };
    const record = await this.#write((tx) => deleteSession(tx, request));
    for (const lease of this.#leases.leases) if (lease.sessionId === id) lease.lose();
    return record;
  }

  async restore(id: string, options: ChangeOptions = {}): Promise<SessionRecord> {
    const request = { ...options, id: parseSessionId(id) };
    return this.#write((tx) => restoreSession(tx, request));
  }

  async purge(id: string, options: PurgeOptions = {}): Promise<PurgeReceipt> {
    const request = { ...options, id: parseSessionId(id) };
    await this.#write((tx) => purgeSession(tx, request));
    return { files: [] };
  }

  async search(query: SearchQuery): Promise<SearchResult> {
    return searchSessions(this.#context.connections, query);
  }

  async reindex(): Promise<void> {
    await this.#indexer?.reindex();
  }

  async verify(id?: string, options: VerifyOptions = {}): Promise<VerifyReport> {
    const only = id === undefined ? {} : { id: parseSessionId(id) };
    return verifySessions(this.#context.connections, { ...options, ...only });
  }

  async stats({ search = false }: StatsOptions = {}): Promise<StoreStats> {
    const stats = await countAll(this.#context.connections);
    return search && this.#indexer !== undefined ? { ...stats, search: await this.#indexer.stats() } : stats;
  }

  async exportSession(id: string): Promise<Uint8Array> {
    return exportSession(this.#context.connections, parseSessionId(id));
  }

  async exportLines(id: string, range: LineRange): Promise<LinePart> {
    return exportLines(this.#context.connections, parseSessionId(id), range);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { connections } = this.#context;
    if (this.#closing.signal.aborted) return connections[Symbol.asyncDispose]();
    this.#closing.abort(storeClosed());
    await this.#writer.idle();
    await this.#indexer?.[Symbol.asyncDispose]();
    // The next process that sweeps runs the waiting messages. In parallel, so that an unreachable server delays the
    // close only once.
    await Promise.all(
      this.#leases.leases.map((lease) => lease.release({ handOver: true }).catch(() => null)),
    );
    this.#leases.close();
    await this.#live.close();
    await this.#wakes.close();
    await connections[Symbol.asyncDispose]();
  }

  #write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return transaction(this.#context, work);
  }

  #leaseOf(sessionId: string, epoch: number, ttlMs: number): StoreLease {
    const { connections, self } = this.#context;
    const ref = { id: sessionId, epoch };
    return new StoreLease({
      beat: () => renewLease(connections, self, ref),
      release: (options) => this.#write((tx) => releaseLease(tx, { ...ref, ...options })),
      sessionId,
      epoch,
      ttlMs,
      onOver: () => this.#leases.forget({ sessionId, epoch }),
    });
  }

  /** Marks a session as read-only from its first damaged byte. */
  async #noteDamage({ id }: SessionRow, seq: number): Promise<void> {
    // A node that may write records the damage when it finds it.
    if (this.#context.connections.settings.readOnly) return;
    await this.#write(async (tx) => {
      const row = await lockSession(tx, id);
      const [place] = await tx.query<{ bytes: number }>(
        `SELECT coalesce(sum(octet_length(line) + 1), 0)::bigint AS bytes FROM reprise.lines
         WHERE session_id = $1 AND seq < $2`,
        [id, seq],
      );
      row.corrupt_at ??= place?.bytes ?? 0;
      tx.touch(row);
    });
  }
}

function appendRequest(
  id: string,
  entries: readonly NewEntry[],
  { deliver, log, ...options }: AppendOptions,
): FullAppendRequest {
  checkEntries(entries);
  if (entries.length === 0) throw failure('INVALID_INPUT', 'append.empty');
  checkAppendOptions({ ...options, ...(deliver !== undefined && { deliver }) });
  return {
    ...options,
    id: parseSessionId(id),
    // Copy the entries: the caller may change its objects while they wait.
    entries: structuredClone(entries),
    ...(log !== undefined && { log: checkLog(log) }),
    ...(deliver !== undefined && { deliver: deliver.map(receiveRequest) }),
  };
}

/** Whether the failure is temporary: the server is unreachable or busy. */
function isPassing(error: unknown): boolean {
  return error instanceof RepriseError && (error.code === 'STORE_FAILED' || error.code === 'STORE_BUSY');
}

/** Releases a lease that is granted after the caller timed out. */
async function inTime(ms: number, grant: Promise<Lease>, id: string): Promise<Lease> {
  const late = Promise.withResolvers<never>();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    late.reject(failure('STORE_BUSY', 'session.locked', { id }, { outcome: 'unknown', details: { id } }));
  }, ms);
  grant.then(
    (lease) => (isLate ? lease.release({ handOver: true }).catch(() => null) : undefined),
    () => undefined, // the race below reports it, unless the caller timed out
  );
  try {
    return await Promise.race([grant, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
