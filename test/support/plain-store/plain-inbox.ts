import { RepriseError } from '../../../src/errors.ts';
import { parseNewSessionId } from '../../../src/keys/ids.ts';
import { agentOfKey, normalizeSessionKey } from '../../../src/keys/session-key.ts';
import type * as port from '../../../src/store/port/inbox.ts';
import { checkKey } from '../../../src/store/rules/check-input.ts';
import { assertStorable, type JsonObject } from '../../../src/transcript/json.ts';
import { encodeLine } from '../../../src/transcript/line.ts';
import { fail, hashOf, type PlainSession } from './plain-data.ts';
import { PlainRecords } from './plain-records.ts';

/** Messages: accepted, taken, settled and watched. */
export class PlainInbox extends PlainRecords {
  readonly inbox: port.Inbox = {
    receive: async (inbound) => this.receive(inbound),
    take: async (sessionId, { epoch, orphans = false, inboxId }) =>
      inboxId === undefined ? this.take(sessionId, epoch, orphans) : this.takeThis(sessionId, epoch, inboxId),
    recount: async (sessionId, options) => this.recount(sessionId, options),
    settle: async (inboxId, state, detail) => this.settle(inboxId, state, detail),
    get: async (inboxId) => this.item(inboxId),
    pending: async (query = {}) => this.pending(typeof query === 'string' ? { sessionId: query } : query),
    known: async (key) => this.known(key),
    watch: ({ signal }) => this.watchInbox(this.data.changes.length, signal),
  };

  receive(inbound: port.Inbound): port.InboxReceipt {
    const { source, idempotencyKey, body, reset, log, class: kind = 'message', queue, group } = inbound;
    this.writable();
    checkKey(source);
    checkKey(idempotencyKey);
    if (log !== undefined) this.convlog.check(log);
    const key = normalizeSessionKey(inbound.sessionKey);
    assertStorable(body);
    const name = JSON.stringify([agentOfKey(key), source, idempotencyKey]);
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
    const state = kind === 'command' ? 'running' : 'accepted';
    this.data.items.set(inboxId, {
      ...place,
      state,
      class: kind,
      ...(group !== undefined && { group: group.name }),
      body: JSON.parse(JSON.stringify(body)) as JsonObject,
      attempts: 0,
      createdAt: this.options.now(),
      ...(room.carries.length > 0 && { carries: room.carries }),
    });
    if (idempotencyKey !== undefined) this.data.inbound.set(name, { hash, inboxId });
    this.changed({ sessionId: session.id, inboxId, state });
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
    const id = parseNewSessionId(create.id ?? this.options.newId());
    // Before anything is made: what is too long for a line is refused.
    encodeLine({ type: 'custom', settings }, { q: 1, e: 0, b: '1/1' });
    if (this.data.sessions.has(id.toLowerCase())) throw fail('SESSION_EXISTS', `${id} exists`);
    const session = this.make(id, key, {
      ...(parentId !== undefined && { parentId }),
      ...(create.owner !== undefined && old === undefined && { owner: create.owner }),
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

  protected named(id: string, key: string): PlainSession {
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
    const found = this.pending({ sessionId }).find((item) => item.inboxId === inboxId);
    return this.run(found?.state === 'running' || found?.class === 'command' ? undefined : found);
  }

  recount(sessionId: string, { epoch, inboxId, attempts }: port.RecountOptions): void {
    const session = this.find(sessionId);
    if (session.holder === undefined || epoch !== session.epoch) throw fail('FENCED', 'not the holder');
    const found = this.pending({ sessionId }).find((item) => item.inboxId === inboxId);
    if (found?.state === 'running') this.data.items.set(inboxId, { ...found, attempts });
  }

  protected run(item: port.InboxItem | undefined): port.InboxItem | null {
    if (item === undefined) return null;
    const taken: port.InboxItem = { ...item, state: 'running', attempts: item.attempts + 1 };
    this.data.items.set(taken.inboxId, taken);
    return taken;
  }

  settle(inboxId: string, state: port.InboxState, detail?: JsonObject): void {
    const item = this.item(inboxId);
    if (!isPending(item)) return;
    const attempts = state === 'waiting' ? 0 : item.attempts;
    this.data.items.set(inboxId, { ...item, state, attempts, ...(detail !== undefined && { detail }) });
    this.changed({ sessionId: item.sessionId, inboxId, state });
  }

  changed(change: port.InboxChange): void {
    this.data.changes.push(change);
    this.wake();
  }

  async *watchInbox(from: number, signal: AbortSignal): AsyncGenerator<port.InboxChange> {
    for (let at = from; !signal.aborted && !this.isClosed; ) {
      const change = this.data.changes[at];
      if (change === undefined) await this.nextChange(signal);
      else {
        at++;
        yield change;
      }
    }
  }

  known({ sessionKey, source, idempotencyKey }: port.InboundKey): port.InboxItem | undefined {
    this.open();
    const agentId = agentOfKey(normalizeSessionKey(sessionKey));
    const known = this.data.inbound.get(JSON.stringify([agentId, source, idempotencyKey]));
    return known === undefined ? undefined : this.item(known.inboxId);
  }

  protected item(inboxId: string): port.InboxItem {
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

  protected accepted(sessionId: string): port.InboxItem[] {
    return this.pending({ sessionId }).filter(({ state }) => state === 'accepted');
  }
}

function isPending({ state }: port.InboxItem): boolean {
  return state === 'accepted' || state === 'running' || state === 'waiting';
}
