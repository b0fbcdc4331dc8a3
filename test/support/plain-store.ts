/**
 * The port on Maps and arrays: the shortest thing that keeps every promise but durability. A model to test the
 * suite with, not a store for users. Nothing awaits between a check and its write, so every method is atomic.
 *
 * It is longer than files here should be because it is the whole port in one class. Its steps (`guard`, `write`,
 * `take`, …) are methods of their own, so that broken-stores.ts can replace them one at a time.
 */

import { createHash } from 'node:crypto';
import { type ErrorCode, RepriseError } from '../../src/errors.ts';
import { DEFAULT_AGENT_ID, parseSessionId } from '../../src/keys/ids.ts';
import { normalizeSessionKey, parseSessionKey } from '../../src/keys/session-key.ts';
import type { StoredConvlogLine } from '../../src/store/convlog.ts';
import type { LinePart, LineRange } from '../../src/store/line-part.ts';
import type { Note, Notes } from '../../src/store/notes.ts';
import type * as port from '../../src/store/store.ts';
import { LIVE_EVENT_BYTES } from '../../src/store/store.ts';
import type { Transfer, TransferRecord } from '../../src/store/transfer.ts';
import type { StoreUnderTest } from '../../src/testing/store-suite/index.ts';
import { blobHash } from '../../src/transcript/blobs.ts';
import { contentText } from '../../src/transcript/content.ts';
import { type Entry, isSideEntry, type SessionHeader } from '../../src/transcript/entry.ts';
import { entryIdForSeq } from '../../src/transcript/entry-id.ts';
import { assertStorable, isObject, type JsonObject } from '../../src/transcript/json.ts';
import { encodeLine } from '../../src/transcript/line.ts';
import { selectContext } from '../../src/transcript/select.ts';
import { encodeWithBlobs, type PlainBlobs } from './plain-blobs.ts';
import { PlainConvlog } from './plain-convlog.ts';
import { PlainNotes } from './plain-notes.ts';
import { plainSearch } from './plain-search.ts';
import { type PlainCopy, PlainTransfer } from './plain-transfer.ts';

export interface PlainOptions {
  /** ISO times; never runs backwards. */
  readonly now: () => string;
  readonly newId: () => string;
}

export interface PlainSession {
  readonly id: string;
  readonly key: string;
  readonly createdAt: string;
  readonly parentId?: string;
  /** Sealed lines with their LF; the seq is the index plus one. */
  readonly lines: string[];
  readonly keys: Map<string, { readonly hash: string; readonly receipt: port.AppendReceipt }>;
  blobs: PlainBlobs;
  leaf: string | null;
  epoch: number;
  deleted: boolean;
  holder?: { readonly store: PlainStore; readonly lost: AbortController };
}

/** What outlives a store object: the disk, so to speak. */
export class PlainData {
  readonly notes: Map<string, Note> = new Map();
  readonly logged: StoredConvlogLine[] = [];
  /** By lower-case id: ids are unique ignoring case. */
  readonly sessions: Map<string, PlainSession> = new Map();
  readonly purged: Set<string> = new Set();
  readonly active: Map<string, string> = new Map();
  readonly items: Map<string, port.InboxItem> = new Map();
  readonly inbound: Map<string, { readonly hash: string; readonly inboxId: string }> = new Map();
  /** Sessions whose inbox has changed, in order. */
  readonly changes: string[] = [];
  /** What was told to those who copy this store, a list for each pass. */
  readonly passes: TransferRecord[][] = [];
  /** The copy that was made into this one. */
  copy?: PlainCopy;
  epochFloor = 0;
}

/** A listener and what it has not heard yet. */
export interface PlainEar {
  readonly id: string;
  readonly waiting: string[];
  missed: number;
}

const MAX_WAITING = 500;

export type Entries = readonly port.NewEntry[];

/** Of all stores: an id of one is never that of another. */
let ids = 0;

/** A clock of four entries to the millisecond: stores meet equal times, and lists must cope. */
function plainOptions(): PlainOptions {
  let ticks = 0;
  return {
    now: () => new Date(Date.UTC(2025, 0, 1) + Math.floor(++ticks / 4)).toISOString(),
    newId: () => `id-${String(++ids).padStart(6, '0')}`,
  };
}

/** `prepare` gets every store before anyone else does; that is where broken ones are broken. */
export async function openPlain(prepare: (store: PlainStore) => void = () => {}): Promise<StoreUnderTest> {
  const options = plainOptions();
  const data = new PlainData();
  const open = (): PlainStore => {
    const store = new PlainStore(options, data);
    prepare(store);
    return store;
  };
  let store = open();
  const reopen = async (): Promise<port.Store> => {
    await store[Symbol.asyncDispose]();
    store = open();
    store.onReopen();
    return store;
  };
  return { store, reopen };
}

export class PlainStore implements port.Store {
  readonly supports: port.StoreSupports = {
    search: 'scan',
    durability: 'none',
    shared: false,
    live: 'process',
  };
  readonly options: PlainOptions;
  readonly data: PlainData;
  readonly #wakers = new Set<() => void>();
  readonly #ears = new Set<PlainEar>();
  #closed = false;
  readonly convlog: PlainConvlog;
  readonly notes: Notes;
  readonly transfer: Transfer;

  readonly inbox: port.Inbox = {
    receive: async (inbound) => this.receive(inbound),
    take: async (sessionId, { epoch, orphans = false, inboxId }) =>
      inboxId === undefined ? this.take(sessionId, epoch, orphans) : this.takeThis(sessionId, epoch, inboxId),
    settle: async (inboxId, state, detail) => this.settle(inboxId, state, detail),
    get: async (inboxId) => this.item(inboxId),
    pending: async (query = {}) => this.pending(typeof query === 'string' ? { sessionId: query } : query),
    known: async (key) => this.known(key),
    watch: ({ signal }) => this.watchInbox(this.data.changes.length, signal),
  };

  constructor(options: PlainOptions, data: PlainData) {
    this.options = options;
    this.data = data;
    const gates = { open: () => this.open(), writable: () => this.writable() };
    this.convlog = new PlainConvlog(data.logged, options.now, gates);
    this.notes = new PlainNotes(data.notes, (id) => {
      this.open();
      return data.sessions.get(id.toLowerCase())?.id === id;
    });
    this.transfer = new PlainTransfer(data, () => this.open());
  }

  /** For broken stores: what they lose on the way. */
  onReopen(): void {}

  async create(init: port.SessionInit): Promise<port.SessionRecord> {
    this.writable();
    const id = parseSessionId(init.id ?? this.options.newId());
    const key = normalizeSessionKey(init.key);
    if (init.activate === true) {
      // In one step: whoever asks meanwhile gets the same one.
      const current = this.data.active.get(key);
      if (current !== undefined) return this.record(this.find(current));
      const made = this.make(id, key, init);
      this.data.active.set(key, made.id);
      return this.record(made);
    }
    if (this.data.purged.has(id.toLowerCase())) throw fail('GONE', `${id} was purged`);
    const known = this.data.sessions.get(id.toLowerCase());
    if (known === undefined) return this.record(this.make(id, key, init));
    if (known.id === id && known.key === key) return this.record(known);
    throw fail('SESSION_EXISTS', `${known.id} is under another key`);
  }

  async get(id: string): Promise<port.SessionRecord> {
    return this.record(this.find(id));
  }

  async active(key: string): Promise<port.SessionRecord | undefined> {
    this.open();
    const id = this.data.active.get(normalizeSessionKey(key));
    return id === undefined ? undefined : this.record(this.find(id));
  }

  async activate(
    key: string,
    id: string,
    { reason, key: appendKey }: port.ActivateOptions = {},
  ): Promise<port.SessionRecord> {
    const session = this.find(id);
    if (appendKey !== undefined && session.keys.has(appendKey)) return this.record(session);
    if (session.deleted) throw fail('SESSION_DELETED', `${id} is deleted`);
    this.data.active.set(normalizeSessionKey(key), session.id);
    const data = { key: session.key, ...(reason !== undefined && { reason }) };
    const entries = [{ type: 'custom', customType: 'reprise.activate', data }];
    this.write(session, entries, hashOf(entries), appendKey);
    return this.record(session);
  }

  async list(query: port.ListQuery = {}): Promise<port.SessionPage> {
    this.open();
    const { limit = 50, cursor } = query;
    const records = [...this.data.sessions.values()].map((session) => this.record(session));
    const { sort = 'time', order = 'desc' } = query;
    if (!['time', 'messages', 'tokens'].includes(sort) || !['asc', 'desc'].includes(order))
      throw fail('INVALID_INPUT', 'no such order');
    const placed = records
      .filter((record) => matches(record, query))
      .map((record) => ({ record, place: place(record, sort) }))
      .sort((a, b) => (a.place < b.place === (order === 'asc') ? -1 : 1));
    const from = cursor === undefined ? undefined : parseCursor(cursor, sort);
    const isBehind = (at: string): boolean => from === undefined || (order === 'asc' ? at > from : at < from);
    const ahead = placed.filter((one) => isBehind(one.place));
    const page = ahead.slice(0, limit);
    return {
      sessions: page.map(({ record }) => record),
      cursor: ahead.length > limit ? (page.at(-1)?.place ?? null) : null,
    };
  }

  async append(id: string, entries: Entries, options: port.AppendOptions = {}): Promise<port.AppendReceipt> {
    const session = this.find(id);
    checkEntries(entries);
    return this.atomically(session, () => {
      const receipt = this.land(session, entries, options);
      this.tell(options);
      return receipt;
    });
  }

  land(session: PlainSession, entries: Entries, options: port.AppendOptions): port.AppendReceipt {
    this.writable();
    const hash = hashOf(entries);
    const known = options.key === undefined ? undefined : session.keys.get(options.key);
    if (known !== undefined) {
      if (known.hash === hash) return known.receipt;
      throw fail('KEY_REUSED', 'the key was used with another body');
    }
    const log = (options.log ?? []).map((line) => ({ sessionId: session.id, ...line }));
    for (const line of log) this.convlog.check(line);
    this.guard(session, entries, options);
    const receipt = this.write(session, entries, hash, options.key);
    this.convlog.write(log);
    return receipt;
  }

  /** What an append means for messages: also when its key was known. */
  tell({ settle = [], deliver = [] }: port.AppendOptions): void {
    for (const { inboxId, state, detail } of settle) this.settle(inboxId, state, detail);
    for (const inbound of deliver) {
      if (inbound.idempotencyKey === undefined) throw fail('INVALID_INPUT', 'a delivery has a key');
      this.deliver(inbound);
    }
  }

  deliver(inbound: port.Inbound): void {
    try {
      this.receive(inbound);
    } catch (error) {
      const gone = ['SESSION_DELETED', 'SESSION_NOT_FOUND', 'GONE'];
      if (!(error instanceof RepriseError) || !gone.includes(error.code)) throw error;
    }
  }

  /** All of it or nothing. Nothing awaits in between, so there is nobody who could have seen more. */
  atomically<T>(session: PlainSession, work: () => T): T {
    const { data } = this;
    const { leaf, blobs } = session;
    const [lines, keys] = [session.lines.length, new Map(session.keys)];
    const maps = [data.sessions, data.active, data.items, data.inbound] as Map<string, unknown>[];
    const copies = maps.map((map) => new Map(map));
    try {
      return work();
    } catch (error) {
      Object.assign(session, { leaf, blobs });
      session.lines.length = lines;
      refill(session.keys, keys);
      for (const [i, map] of maps.entries()) refill(map, copies[i] ?? map);
      throw error;
    }
  }

  /** Tombstone, epoch, leaf: in this order. */
  guard(session: PlainSession, entries: Entries, options: port.AppendOptions): void {
    if (session.deleted) throw fail('SESSION_DELETED', `${session.id} is deleted`);
    this.checkEpoch(session, entries, options.epoch);
    this.checkLeaf(session, options.expectedLeaf);
  }

  checkEpoch(session: PlainSession, entries: Entries, epoch: number | undefined): void {
    if (epoch !== undefined && (epoch !== session.epoch || session.holder === undefined))
      throw fail('FENCED', `the epoch is ${session.epoch}`);
    if (epoch === undefined && session.holder !== undefined && entries.some(movesLeaf)) throw held(session);
  }

  checkLeaf(session: PlainSession, expected: string | null | undefined): void {
    if (expected !== undefined && expected !== session.leaf)
      throw fail('LEAF_MOVED', `the leaf is ${session.leaf}`);
  }

  /** Lines are made first and pushed last: whatever throws on the way leaves nothing (P2). */
  write(session: PlainSession, entries: Entries, h: string, k?: string): port.AppendReceipt {
    const firstSeq = session.lines.length + 1;
    const known = new Map(this.stored(session).map(({ entry }) => [entry.id, entry]));
    const blobs = new Map(session.blobs);
    let { leaf } = session;
    const lines = entries.map((given, i) => {
      const { type, parentId: target, ...rest } = given;
      if (isLeafMove(given)) leaf = chainEntry(known, target ?? null);
      const parentId = leaf;
      const entry: Entry = {
        type,
        id: entryIdForSeq(firstSeq + i),
        parentId,
        timestamp: this.options.now(),
        ...rest,
      };
      if (!isSideEntry(entry)) leaf = entry.id;
      known.set(entry.id, entry);
      const b = `${i + 1}/${entries.length}`;
      const seal = { q: firstSeq + i, e: session.epoch, b, ...(k !== undefined && { k, h }) };
      return encodeWithBlobs(entry, seal, blobs);
    });
    session.lines.push(...lines);
    session.blobs = blobs;
    session.leaf = leaf;
    const receipt = { firstSeq, lastSeq: session.lines.length };
    if (k !== undefined) session.keys.set(k, { hash: h, receipt });
    this.wake();
    return receipt;
  }

  async blob(id: string, hash: string): Promise<Uint8Array> {
    return this.find(id).blobs.get(blobHash(hash)) ?? Promise.reject(fail('NOT_FOUND', `no blob ${hash}`));
  }

  async tail(id: string, { limit, only }: port.TailOptions = {}): Promise<port.EntryPage> {
    const session = this.find(id);
    const all = this.stored(session).slice(1);
    const { compaction, entries } = selectContext(all.map(({ entry }) => entry as Entry));
    const needed = new Set([compaction?.id, ...entries.map((entry) => entry.id)]);
    const start = all.findIndex(({ entry }) => needed.has(entry.id));
    if (limit !== undefined && !(limit >= 1)) throw fail('INVALID_INPUT', 'a page has an entry');
    const whole = start === -1 ? all.slice(-1) : all.slice(start);
    const newest = whole.slice(limit === undefined ? 0 : -limit);
    const isWanted = ({ entry }: port.StoredEntry): boolean =>
      only === undefined ||
      only.includes(entry.type) ||
      only.includes(String((entry as Entry)['customType']));
    return {
      entries: newest.filter(isWanted),
      lastSeq: session.lines.length,
      hasMore: newest.length < whole.length,
    };
  }

  async read(
    id: string,
    { from, limit = 100, direction = 'forward' }: port.ReadRange = {},
  ): Promise<port.EntryPage> {
    const all = this.stored(this.find(id));
    const ahead =
      direction === 'forward'
        ? all.filter(({ seq }) => seq >= (from ?? 1))
        : all.filter(({ seq }) => seq <= (from ?? all.length)).reverse();
    return { entries: ahead.slice(0, limit), lastSeq: all.length, hasMore: ahead.length > limit };
  }

  async *watch(id: string, { afterSeq, signal }: port.WatchOptions): AsyncGenerator<port.StoredEntry> {
    let seq = afterSeq + 1;
    while (!signal.aborted) {
      const line = this.find(id).lines[seq - 1];
      // Between this look and the wait nothing can be appended: no wakeup is lost.
      if (line === undefined) await this.nextChange(signal);
      else yield { seq: seq++, entry: parse(line) };
    }
  }

  async publish(id: string, event: JsonObject): Promise<void> {
    this.open();
    if (!isObject(event)) throw fail('INVALID_INPUT', 'an event is an object');
    assertStorable(event);
    const text = JSON.stringify(event);
    if (Buffer.byteLength(text) > LIVE_EVENT_BYTES)
      throw new RepriseError('LIMIT_EXCEEDED', 'the event is too large', { details: { limit: 'event' } });
    for (const ear of this.#ears) if (ear.id === id) this.hear(ear, text);
    this.wake();
  }

  /** Keeps what a listener has not taken yet, up to a bound. */
  hear(ear: PlainEar, text: string): void {
    if (ear.waiting.push(text) <= MAX_WAITING) return;
    ear.waiting.shift();
    ear.missed++;
  }

  live(id: string, { signal }: port.LiveOptions): AsyncIterable<port.LiveEvent> {
    const ear: PlainEar = { id, waiting: [], missed: 0 };
    this.#ears.add(ear);
    return this.events(ear, signal);
  }

  private async *events(ear: PlainEar, signal: AbortSignal): AsyncGenerator<port.LiveEvent> {
    try {
      while (!signal.aborted && !this.#closed) {
        const text = ear.waiting.shift();
        if (text === undefined) await this.nextChange(signal);
        else {
          const { missed } = ear;
          ear.missed = 0;
          yield { event: JSON.parse(text) as JsonObject, missed };
        }
      }
    } finally {
      this.#ears.delete(ear);
    }
  }

  async lease(id: string, { waitMs = 0 }: port.LeaseOptions = {}): Promise<port.Lease> {
    const patience = AbortSignal.timeout(waitMs);
    let session = this.find(id);
    while (session.holder !== undefined) {
      if (waitMs === 0 || patience.aborted) throw held(session);
      await this.nextChange(patience);
      session = this.find(id);
    }
    if (session.deleted) throw fail('SESSION_DELETED', `${id} is deleted`);
    this.writable();
    session.epoch = this.nextEpoch(session);
    return this.grant(session, { store: this, lost: new AbortController() });
  }

  nextEpoch(session: PlainSession): number {
    return Math.max(session.epoch, this.data.epochFloor) + 1;
  }

  private grant(session: PlainSession, holder: NonNullable<PlainSession['holder']>): port.Lease {
    session.holder = holder;
    const isMine = (): boolean => session.holder === holder;
    const giveUp = (): void => {
      if (isMine()) this.dropHolder(session);
    };
    return {
      sessionId: session.id,
      epoch: session.epoch,
      signal: holder.lost.signal,
      renew: async () => {
        if (!isMine()) throw fail('FENCED', 'the lease is lost');
      },
      release: async ({ handOver = false } = {}) => {
        const waiting = handOver ? undefined : this.accepted(session.id)[0];
        if (isMine() && waiting !== undefined) return waiting;
        giveUp();
        return null;
      },
      [Symbol.asyncDispose]: async () => giveUp(),
    };
  }

  private dropHolder(session: PlainSession): void {
    session.holder?.lost.abort();
    delete session.holder;
    this.wake();
  }

  async leases(): Promise<readonly port.LeaseInfo[]> {
    this.open();
    const heldNow = [...this.data.sessions.values()].filter(({ holder }) => holder !== undefined);
    return heldNow.map(({ id, epoch }) => ({ sessionId: id, epoch, holder: HOLDER, alive: true }));
  }

  receive(inbound: port.Inbound): port.InboxReceipt {
    const { source, idempotencyKey, body, reset, log, class: kind = 'message', queue, group } = inbound;
    this.writable();
    if (log !== undefined) this.convlog.check(log);
    const key = normalizeSessionKey(inbound.sessionKey);
    assertStorable(body);
    const name = JSON.stringify([agentOf(key), source, idempotencyKey]);
    const hash = hashOf(inbound.digest ?? body);
    const known = idempotencyKey === undefined ? undefined : this.data.inbound.get(name);
    if (known !== undefined) {
      if (known.hash !== hash) throw fail('KEY_REUSED', 'the message key was used with another body');
      const { inboxId, sessionId } = this.item(known.inboxId);
      const isHeld = this.data.sessions.get(sessionId.toLowerCase())?.holder !== undefined;
      return { inboxId, sessionId, sessionKey: key, fresh: false, held: isHeld, dropped: [] };
    }
    if (group !== undefined) this.checkGroup(group);
    const current = this.recipient(key, inbound);
    if (inbound.ifIdle === true && current !== undefined) this.checkIdle(current);
    const room =
      kind === 'message' && queue !== undefined && current !== undefined
        ? this.makeRoom(current, queue)
        : { dropped: [], carries: [] };
    const replaced = reset === undefined ? undefined : this.data.active.get(key);
    const session = current ?? this.makeFor(key, inbound, replaced);
    const inboxId = this.options.newId();
    const place = { inboxId, sessionId: session.id, sessionKey: key };
    this.data.items.set(inboxId, {
      ...place,
      state: kind === 'command' ? 'running' : 'accepted',
      class: kind,
      ...(group !== undefined && { group: group.name }),
      body: JSON.parse(JSON.stringify(body)) as JsonObject,
      attempts: 0,
      createdAt: this.options.now(),
      ...(room.carries.length > 0 && { carries: room.carries }),
    });
    if (idempotencyKey !== undefined) this.data.inbound.set(name, { hash, inboxId });
    this.changed(session.id);
    if (log !== undefined) this.convlog.write([{ ...log, sessionId: session.id }]);
    const created = current === undefined ? { created: { replaced: replaced ?? null } } : {};
    return { ...place, fresh: true, held: session.holder !== undefined, dropped: room.dropped, ...created };
  }

  /** Undefined: one has to be made. */
  recipient(key: string, { sessionId, reset }: port.Inbound): PlainSession | undefined {
    if (sessionId !== undefined) return this.named(sessionId, key);
    const current = this.data.active.get(key);
    if (current === undefined) return undefined;
    const isDue = reset !== undefined && (reset.from === undefined || reset.from === current);
    return isDue ? undefined : this.find(current);
  }

  checkGroup({ name, max = Number.POSITIVE_INFINITY }: port.InboxGroup): void {
    if (name.length > 256)
      throw new RepriseError('LIMIT_EXCEEDED', 'too long', { details: { limit: 'group name', max: 256 } });
    if (this.pending({ group: name }).length < max) return;
    throw new RepriseError('LIMIT_EXCEEDED', `group ${name} is full`, { details: { limit: 'group' } });
  }

  checkIdle({ id }: PlainSession): void {
    if (this.pending({ sessionId: id }).length > 0) throw fail('SESSION_BUSY', `${id} is busy`);
  }

  makeRoom({ id }: PlainSession, { cap, drop }: port.QueueLimit): { dropped: string[]; carries: string[] } {
    const waiting = this.accepted(id).filter((item) => item.class === 'message');
    if (waiting.length < cap) return { dropped: [], carries: [] };
    if (drop === 'new')
      throw new RepriseError('QUEUE_FULL', `${id} is at its cap`, { details: { limit: cap } });
    const dropped: string[] = [];
    let carries: string[] = [];
    while (waiting.length >= cap) {
      const oldest = waiting.shift();
      if (oldest === undefined) break;
      const detail = { code: 'QUEUE_FULL', message: 'the queue was full', reason: 'queue-full' };
      this.settle(oldest.inboxId, 'dropped', detail);
      dropped.push(oldest.inboxId);
      carries = [...carries, ...(oldest.carries ?? []), oldest.inboxId];
    }
    const [heir] = waiting;
    if (drop === 'old' || heir === undefined) return { dropped, carries: drop === 'old' ? [] : carries };
    this.data.items.set(heir.inboxId, { ...heir, carries: [...carries, ...(heir.carries ?? [])] });
    return { dropped, carries: [] };
  }

  makeFor(key: string, { reset, create = {} }: port.Inbound, replaced?: string): PlainSession {
    const old = replaced === undefined ? undefined : this.find(replaced);
    const settings = { ...(old !== undefined && this.carried(old, reset)), ...create.settings };
    const parentId = old?.id ?? create.parentId;
    const id = parseSessionId(create.id ?? this.options.newId());
    // Before anything is made: what is too long for a line is refused.
    encodeLine({ type: 'custom', settings }, { q: 1, e: 0, b: '1/1' });
    if (this.data.sessions.has(id.toLowerCase())) throw fail('SESSION_EXISTS', `${id} exists`);
    const session = this.make(id, key, {
      ...(parentId !== undefined && { parentId }),
      ...(Object.keys(settings).length > 0 && { settings }),
    });
    this.data.active.set(key, session.id);
    const why = reset === undefined ? {} : { reason: reset.reason };
    this.note(session, 'activate', { key, ...why });
    if (old !== undefined) this.note(old, 'reset', { next: session.id, ...why });
    return session;
  }

  carried(old: PlainSession, { forget = [] }: Partial<port.Reset> = {}): JsonObject {
    const { settings } = this.record(old);
    return Object.fromEntries(Object.entries(settings).filter(([name]) => !forget.includes(name)));
  }

  private named(id: string, key: string): PlainSession {
    const session = this.find(id);
    if (session.deleted) throw fail('SESSION_DELETED', 'the session is in the trash');
    if (session.key !== key) throw fail('INVALID_INPUT', 'the session belongs to another key');
    return session;
  }

  take(sessionId: string, epoch: number, orphans = false): port.InboxItem | null {
    const session = this.find(sessionId);
    if (session.holder === undefined || epoch !== session.epoch) throw fail('FENCED', 'not the holder');
    const takeable = this.pending({ sessionId }).filter((item) => item.class !== 'command');
    const orphan = orphans ? takeable.find(({ state }) => state === 'running') : undefined;
    return this.run(orphan ?? takeable.find(({ state }) => state === 'accepted'));
  }

  takeThis(sessionId: string, epoch: number, inboxId: string): port.InboxItem | null {
    const session = this.find(sessionId);
    if (session.holder === undefined || epoch !== session.epoch) throw fail('FENCED', 'not the holder');
    return this.run(this.accepted(sessionId).find((item) => item.inboxId === inboxId));
  }

  private run(item: port.InboxItem | undefined): port.InboxItem | null {
    if (item === undefined) return null;
    const taken: port.InboxItem = { ...item, state: 'running', attempts: item.attempts + 1 };
    this.data.items.set(taken.inboxId, taken);
    return taken;
  }

  settle(inboxId: string, state: port.InboxState, detail?: JsonObject): void {
    const item = this.item(inboxId);
    if (!isPending(item)) return;
    this.data.items.set(inboxId, { ...item, state, ...(detail !== undefined && { detail }) });
    this.changed(item.sessionId);
  }

  changed(sessionId: string): void {
    this.data.changes.push(sessionId);
    this.wake();
  }

  async *watchInbox(from: number, signal: AbortSignal): AsyncGenerator<string> {
    for (let at = from; !signal.aborted && !this.#closed; ) {
      const id = this.data.changes[at];
      if (id === undefined) await this.nextChange(signal);
      else {
        at++;
        yield id;
      }
    }
  }

  known({ sessionKey, source, idempotencyKey }: port.InboundKey): port.InboxItem | undefined {
    this.open();
    const agentId = agentOf(normalizeSessionKey(sessionKey));
    const known = this.data.inbound.get(JSON.stringify([agentId, source, idempotencyKey]));
    return known === undefined ? undefined : this.item(known.inboxId);
  }

  private item(inboxId: string): port.InboxItem {
    this.open();
    const item = this.data.items.get(inboxId);
    if (item === undefined) throw fail('NOT_FOUND', `no message ${inboxId}`);
    return item;
  }

  pending({ sessionId, group }: port.PendingQuery): port.InboxItem[] {
    this.open();
    return [...this.data.items.values()].filter(
      (item) =>
        isPending(item) &&
        (sessionId === undefined || item.sessionId === sessionId) &&
        (group === undefined || item.group === group),
    );
  }

  private accepted(sessionId: string): port.InboxItem[] {
    return this.pending({ sessionId }).filter(({ state }) => state === 'accepted');
  }

  async patch(
    id: string,
    settings: JsonObject,
    { title, ...options }: port.PatchOptions = {},
  ): Promise<port.SessionRecord> {
    if (!isObject(settings)) throw fail('INVALID_INPUT', 'settings are an object');
    if (title !== undefined && typeof title !== 'string') throw fail('INVALID_INPUT', 'a title is a text');
    this.checkSeen(this.find(id), options);
    const entries: port.NewEntry[] = title === undefined ? [] : [{ type: 'session_info', name: title }];
    if (title === undefined || Object.keys(settings).length > 0)
      entries.push({ type: 'custom', customType: 'reprise.settings', data: settings });
    // Begun in the same step as the check: nobody comes between.
    await this.append(id, entries);
    return this.record(this.find(id));
  }

  checkSeen(session: PlainSession, { ifSeen }: port.ChangeOptions): void {
    if (ifSeen === undefined) return;
    const { lastSeq, active, status } = this.record(session);
    if (lastSeq !== ifSeen.lastSeq || active !== ifSeen.active || status !== ifSeen.status)
      throw fail('PRECONDITION_FAILED', `${session.id} has changed`);
  }

  async delete(id: string, options: port.ChangeOptions = {}): Promise<port.SessionRecord> {
    this.writable();
    const session = this.find(id);
    this.checkSeen(session, options);
    if (session.deleted) return this.record(session);
    for (const { inboxId } of this.pending({ sessionId: id }))
      this.settle(inboxId, 'cancelled', { reason: 'session deleted' });
    session.epoch++;
    this.note(session, 'deleted');
    session.deleted = true;
    this.freeKey(session);
    this.dropHolder(session);
    return this.record(session);
  }

  freeKey({ key, id }: PlainSession): void {
    if (this.data.active.get(key) === id) this.data.active.delete(key);
  }

  async restore(id: string, options: port.ChangeOptions = {}): Promise<port.SessionRecord> {
    const session = this.find(id);
    this.checkSeen(session, options);
    if (!session.deleted) return this.record(session);
    session.deleted = false;
    this.note(session, 'restored');
    return this.record(session);
  }

  async purge(id: string, options: port.ChangeOptions = {}): Promise<void> {
    this.checkSeen(this.find(id), options);
    if (!this.find(id).deleted) throw fail('INVALID_INPUT', `delete ${id} first`);
    this.data.sessions.delete(id.toLowerCase());
    this.data.purged.add(id.toLowerCase());
    for (const [key, note] of this.data.notes) if (note.id === id) this.data.notes.delete(key);
  }

  async search(query: port.SearchQuery): Promise<port.SearchResult> {
    this.open();
    if (query.sessionId !== undefined) this.find(query.sessionId);
    const sessions = [...this.data.sessions.values()];
    return plainSearch(
      sessions.map(({ id, key, deleted, ...session }) => ({
        ...{ id, key, deleted },
        entries: this.stored({ id, key, deleted, ...session }),
      })),
      query,
    );
  }

  async reindex(): Promise<void> {
    this.open();
  }

  /** Nobody can reach the lines of an array from outside: a model has no damage to find. */
  async verify(id?: string): Promise<port.VerifyReport> {
    this.open();
    if (id !== undefined) this.find(id);
    return { status: 'clean', findings: [] };
  }

  async stats(): Promise<port.StoreStats> {
    this.open();
    const sessions = [...this.data.sessions.values()];
    const bytes = sessions
      .flatMap(({ lines }) => lines)
      .reduce((sum, line) => sum + Buffer.byteLength(line), 0);
    return { sessions: sessions.length, bytes, behind: 0, problems: [] };
  }

  async exportSession(id: string): Promise<Uint8Array> {
    return Buffer.from(this.find(id).lines.join(''));
  }

  async exportLines(id: string, { from, to }: LineRange): Promise<LinePart> {
    const { lines } = this.find(id);
    const some = lines.slice(from - 1, Math.min(to, from + 2));
    return { bytes: Buffer.from(some.join('')), next: Math.max(from, from + some.length) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const session of this.data.sessions.values()) {
      if (session.holder?.store === this) this.dropHolder(session);
    }
    this.wake();
  }

  find(id: string): PlainSession {
    this.open();
    if (this.data.purged.has(id.toLowerCase())) throw fail('GONE', `${id} was purged`);
    const session = this.data.sessions.get(id.toLowerCase());
    if (session?.id === id) return session;
    throw fail('SESSION_NOT_FOUND', `no session ${JSON.stringify(id)}`);
  }

  stored(session: PlainSession): port.StoredEntry[] {
    return session.lines.map((line, i) => ({ seq: i + 1, entry: parse(line) }));
  }

  private make(
    id: string,
    key: string,
    { cwd, parentId, settings }: Partial<port.SessionInit>,
  ): PlainSession {
    if (settings !== undefined) assertStorable(settings);
    const timestamp = this.options.now();
    const header = { type: 'session', version: 3, id, timestamp, ...(cwd !== undefined && { cwd }) };
    const line = encodeLine({ ...header, agentId: agentOf(key), key }, { q: 1, e: 0, b: '1/1' });
    const base = { id, key, createdAt: timestamp, lines: [line], leaf: null, epoch: 0, deleted: false };
    const maps = { keys: new Map(), blobs: new Map() };
    const session: PlainSession = { ...base, ...maps, ...(parentId !== undefined && { parentId }) };
    this.data.sessions.set(id.toLowerCase(), session);
    if (settings !== undefined) this.note(session, 'settings', settings);
    return session;
  }

  private note(session: PlainSession, name: string, data: JsonObject = {}): void {
    this.write(session, [{ type: 'custom', customType: `reprise.${name}`, data }], '');
  }

  private record(session: PlainSession): port.SessionRecord {
    const { id, key, leaf, epoch, createdAt, parentId } = session;
    const entries = this.stored(session).map(({ entry }) => entry as Entry);
    const messages = entries.flatMap(({ message }) => (isObject(message) ? [message] : []));
    const users = messages.filter(({ role }) => role === 'user');
    const assistants = messages.filter(({ role }) => role === 'assistant');
    const named = entries.findLast(({ type }) => type === 'session_info')?.['name'];
    return {
      id,
      agentId: agentOf(key),
      sessionKey: key,
      title:
        typeof named === 'string' ? named : [...contentText(users[0]?.['content'])].slice(0, 60).join(''),
      status: session.deleted ? 'deleted' : 'open',
      active: this.data.active.get(key) === id,
      messageCount: users.length + assistants.length,
      turnCount: users.length,
      tokenEstimate: Math.ceil(session.lines.join('').length / 4),
      createdAt,
      lastAt: entries.findLast(({ type }) => type === 'message')?.timestamp ?? createdAt,
      ...(parentId !== undefined && { parentId }),
      lastSeq: session.lines.length,
      leaf,
      epoch,
      settings: selectContext(entries.slice(1)).settings,
    };
  }

  writable(): void {
    this.open();
    const { copy } = this.data;
    if (copy !== undefined && !copy.finished) throw fail('STORE_READ_ONLY', 'a copy is not finished');
  }

  private open(): void {
    if (this.#closed) throw fail('STORE_FAILED', 'the store is closed', 'none');
  }

  private wake(): void {
    for (const waker of this.#wakers) waker();
  }

  private async nextChange(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakers.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    this.#wakers.delete(resolve);
  }
}

const HOLDER: JsonObject = { pid: process.pid };

function fail(code: ErrorCode, message: string, outcome: 'none' | 'unknown' = 'none'): RepriseError {
  return new RepriseError(code, message, { outcome });
}

function held({ id }: PlainSession): RepriseError {
  return new RepriseError('LEASE_HELD', `somebody holds ${id}`, { details: { holder: HOLDER } });
}

function parse(line = ''): Entry | SessionHeader {
  return JSON.parse(line) as Entry | SessionHeader;
}

function checkEntries(entries: Entries): void {
  if (entries.length === 0) throw fail('INVALID_INPUT', 'an append needs an entry');
  for (const entry of entries) {
    if (!isObject(entry) || typeof entry['type'] !== 'string' || 'id' in entry) {
      throw fail('INVALID_INPUT', 'an entry is an object with a type and without an id');
    }
    assertStorable(entry);
  }
}

function isLeafMove({ type, customType }: port.NewEntry): boolean {
  return type === 'custom' && customType === 'reprise.leaf';
}

function movesLeaf(entry: port.NewEntry): boolean {
  return isLeafMove(entry) || !isSideEntry(entry as unknown as Entry);
}

/** Where a move to `target` leads: a side entry stands for the chain entry it hangs at. */
function chainEntry(
  known: ReadonlyMap<string | undefined, Entry | SessionHeader>,
  target: string | null,
): string | null {
  if (target === null) return null;
  const entry = known.get(target);
  if (entry === undefined || entry.type === 'session') throw fail('INVALID_INPUT', `no entry ${target}`);
  return isSideEntry(entry as Entry) ? chainEntry(known, (entry as Entry).parentId) : target;
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);
}

function refill<K, V>(map: Map<K, V>, from: ReadonlyMap<K, V>): void {
  const entries = [...from];
  map.clear();
  for (const [key, value] of entries) map.set(key, value);
}

function agentOf(key: string): string {
  const parts = parseSessionKey(key);
  return parts.kind === 'global' ? DEFAULT_AGENT_ID : parts.agentId;
}

function isPending({ state }: port.InboxItem): boolean {
  return state === 'accepted' || state === 'running';
}

function matches(
  record: port.SessionRecord,
  { agentId, kind, channel, parentId, status = 'open', text }: port.ListQuery,
): boolean {
  const parts = parseSessionKey(record.sessionKey);
  return (
    (status === 'any' || record.status === status) &&
    (agentId === undefined || record.agentId === agentId) &&
    (kind === undefined || parts.kind === kind) &&
    (channel === undefined || ('channel' in parts && parts.channel === channel)) &&
    (parentId === undefined || record.parentId === parentId) &&
    (text === undefined || folded(record.title).includes(folded(text)))
  );
}

/** Of letters beyond ASCII the case counts. */
function folded(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Where a record stands in a list; also the cursor behind it. */
function place({ lastAt, id, messageCount, tokenEstimate }: port.SessionRecord, sort: port.ListSort): string {
  const count = String(sort === 'messages' ? messageCount : tokenEstimate).padStart(12, '0');
  return `${sort} ${sort === 'time' ? lastAt : count} ${id}`;
}

function parseCursor(cursor: string, sort: port.ListSort): string {
  if (cursor.startsWith(`${sort} `)) return cursor;
  throw fail('INVALID_INPUT', 'not a cursor of this store');
}
