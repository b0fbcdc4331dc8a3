/**
 * The port on Maps and arrays: the shortest thing that keeps every promise but durability. A model to test the
 * suite with, not a store for users. Nothing awaits between a check and its write, so every method is atomic.
 *
 * Its steps (`guard`, `write`, `take`, …) are methods of their own, so that broken stores can replace them one at a
 * time. They stand in layers: lines, records of sessions, the inbox, leases, and here what appends, publishes and deletes.
 */

import { RepriseError } from '../../../src/errors.ts';
import type { Inbound } from '../../../src/store/port/inbox.ts';
import type { PurgeOptions, PurgeReceipt } from '../../../src/store/port/purge.ts';
import type * as port from '../../../src/store/port/store.ts';
import { LIVE_EVENT_BYTES } from '../../../src/store/port/store.ts';
import type {
  BegunTurn,
  ChangedRows,
  EndedTurn,
  SeenRow,
  TurnEndOptions,
  TurnPlan,
  Turns,
} from '../../../src/store/port/turns.ts';
import { checkKey } from '../../../src/store/rules/check-input.ts';
import { type Entry, isSideEntry } from '../../../src/transcript/entry.ts';
import { assertStorable, isObject, type JsonObject } from '../../../src/transcript/json.ts';
import type { StoreUnderTest } from '../../../testing/store-suite/index.ts';
import {
  type Entries,
  fail,
  hashOf,
  held,
  PlainData,
  type PlainOptions,
  type PlainSession,
} from './plain-data.ts';
import { PlainLeases } from './plain-leases.ts';
import { isLeafMove } from './plain-lines.ts';

/** A listener and what it has not heard yet. */
export interface PlainEar {
  readonly id: string;
  readonly waiting: string[];
  missed: number;
}

const MAX_WAITING = 500;

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

export class PlainStore extends PlainLeases implements port.Store {
  readonly supports: port.StoreSupports = {
    search: 'scan',
    durability: 'none',
    shared: false,
    live: 'process',
  };
  readonly #ears = new Set<PlainEar>();
  readonly turns: Turns = {
    begin: async (sessionId, plan) => this.begin(this.find(sessionId), plan),
    end: async (turn, entries, options) => this.end(this.find(turn.sessionId), turn.epoch, entries, options),
  };

  begin(session: PlainSession, plan: TurnPlan): BegunTurn | ChangedRows {
    this.writable();
    const { holder, epoch } = session;
    const rows = this.pending({ sessionId: session.id }).filter((item) => item.class !== 'command');
    const isRunning = this.data.items.get(plan.lead)?.state === 'running';
    const isAgain = isRunning && this.data.turns.get(plan.lead) === plan.turnId && holder?.store === this;
    if (!isAgain && !this.isAsSeen(rows, plan)) return { openRows: structuredClone(rows) };
    for (const { entries } of plan.inputs) checkEntries(entries);
    try {
      return this.atomically(session, () => {
        const lease = this.leaseFor(session, plan);
        if (!isAgain) this.runLead(plan);
        const receipts = plan.inputs.map(({ inboxId, entries }) => {
          const receipt = this.land(session, entries, { key: inboxId, epoch: session.epoch });
          if (inboxId !== plan.lead) this.settle(inboxId, 'merged', { mergedInto: plan.lead });
          return receipt;
        });
        const lead = structuredClone(this.item(plan.lead));
        const start = { epoch: session.epoch, record: this.record(session), lead, receipts };
        return { ...start, ...(lease !== undefined && { lease }) };
      });
    } catch (error) {
      if (holder === undefined) this.dropHolder(session);
      session.epoch = epoch;
      throw error;
    }
  }

  isAsSeen(rows: readonly SeenRow[], { openRows }: TurnPlan): boolean {
    const told = (all: readonly SeenRow[]): string =>
      JSON.stringify(all.map((row) => [row.inboxId, row.state]));
    return told(rows) === told(openRows);
  }

  leaseFor(session: PlainSession, { lease, lead, turnId }: TurnPlan): port.Lease | undefined {
    if ('epoch' in lease) {
      if (session.holder === undefined || lease.epoch !== session.epoch)
        throw fail('FENCED', 'not the holder');
      return undefined;
    }
    const { holder } = session;
    if (holder?.store === this && this.data.turns.get(lead) === turnId) return this.grant(session, holder);
    if (holder !== undefined) throw held(session);
    if (session.deleted) throw fail('SESSION_DELETED', `${session.id} is deleted`);
    session.epoch = this.nextEpoch(session);
    return this.grant(session, { store: this, lost: new AbortController() });
  }

  runLead({ lead, turnId }: TurnPlan): void {
    const item = this.item(lead);
    this.data.items.set(lead, { ...item, state: 'running', attempts: item.attempts + 1 });
    this.data.turns.set(lead, turnId);
  }

  end(session: PlainSession, epoch: number, entries: Entries, options: TurnEndOptions): EndedTurn {
    const { release, ...rest } = options;
    checkEntries(entries);
    return this.atomically(session, () => {
      const receipt = this.land(session, entries, { ...rest, epoch });
      this.tell(rest);
      const rows = (options.settle ?? []).map(({ inboxId }) => {
        const { state, detail } = this.item(inboxId);
        return { inboxId, state, ...(detail !== undefined && { detail }) };
      });
      const released = release && this.accepted(session.id).length === 0;
      if (released) this.giveBack(session);
      return { ...receipt, rows, released };
    });
  }

  giveBack(session: PlainSession): void {
    delete session.holder;
    this.wake();
  }

  /** For broken stores: what they lose on the way. */
  onReopen(): void {}

  async append(id: string, entries: Entries, options: port.AppendOptions = {}): Promise<port.AppendReceipt> {
    const session = this.find(id);
    checkEntries(entries);
    checkKey(options.key);
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

  deliver(inbound: Inbound): void {
    try {
      this.receive(inbound);
    } catch (error) {
      const gone = ['SESSION_DELETED', 'SESSION_NOT_FOUND', 'GONE'];
      if (!(error instanceof RepriseError) || !gone.includes(error.code)) throw error;
    }
  }

  /** All of it or nothing. Nothing awaits in between, so no caller could have seen more. */
  atomically<T>(session: PlainSession, work: () => T): T {
    const { data } = this;
    const { leaf, blobs } = session;
    const [lines, keys] = [session.lines.length, new Map(session.keys)];
    const { sessions, active, items, inbound, turns } = data;
    const maps = [sessions, active, items, inbound, turns] as Map<string, unknown>[];
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

  protected async *events(ear: PlainEar, signal: AbortSignal): AsyncGenerator<port.LiveEvent> {
    try {
      while (!signal.aborted && !this.isClosed) {
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
    // Started in the same step as the check: no caller comes between.
    await this.append(id, entries);
    return this.record(this.find(id));
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

  async purge(id: string, options: PurgeOptions = {}): Promise<PurgeReceipt> {
    this.checkSeen(this.find(id), options);
    if (!this.find(id).deleted) throw fail('INVALID_INPUT', `delete ${id} first`);
    this.data.sessions.delete(id.toLowerCase());
    this.data.purged.add(id.toLowerCase());
    this.data.marks.delete(id);
    for (const [key, note] of this.data.notes) if (note.id === id) this.data.notes.delete(key);
    if (options.keepChannelLog !== true) this.convlog.erase(id);
    const keyed = new Set(this.data.inbound.values().map(({ inboxId }) => inboxId));
    for (const [inboxId, item] of this.data.items)
      if (item.sessionId === id && !keyed.has(inboxId)) this.data.items.delete(inboxId);
    return { files: [] };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true;
    for (const session of this.data.sessions.values()) {
      if (session.holder?.store === this) this.dropHolder(session);
    }
    this.wake();
  }
}

function checkEntries(entries: Entries): void {
  if (entries.length === 0) throw fail('INVALID_INPUT', 'an append needs an entry');
  for (const entry of entries) {
    if (!isObject(entry) || typeof entry['type'] !== 'string' || 'id' in entry) {
      throw fail('INVALID_INPUT', 'an entry is an object with a type and without an id');
    }
    if (entry['customType'] === 'reprise.origin') throw fail('INVALID_INPUT', 'only create writes an origin');
    const { sourceId = 'some' } = entry as { sourceId?: unknown };
    if (typeof sourceId !== 'string' || sourceId === '' || sourceId.length > 512 || sourceId.includes('\0'))
      throw fail('INVALID_INPUT', 'a source id is a short text');
    assertStorable(entry);
  }
}

function movesLeaf(entry: port.NewEntry): boolean {
  return isLeafMove(entry) || !isSideEntry(entry as unknown as Entry);
}

function refill<K, V>(map: Map<K, V>, from: ReadonlyMap<K, V>): void {
  const entries = [...from];
  map.clear();
  for (const [key, value] of entries) map.set(key, value);
}
