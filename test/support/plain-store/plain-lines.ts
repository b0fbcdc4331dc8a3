import { agentOfKey } from '../../../src/keys/session-key.ts';
import type { LinePart, LineRange } from '../../../src/store/port/line-part.ts';
import type { Notes } from '../../../src/store/port/notes.ts';
import type { Sources } from '../../../src/store/port/sources.ts';
import type * as port from '../../../src/store/port/store.ts';
import type { Transfer } from '../../../src/store/port/transfer.ts';
import { blobHash } from '../../../src/transcript/blobs.ts';
import { type Entry, isSideEntry, type SessionHeader } from '../../../src/transcript/entry.ts';
import { entryIdForSeq } from '../../../src/transcript/entry-id.ts';
import { assertStorable, type JsonObject } from '../../../src/transcript/json.ts';
import { encodeLine } from '../../../src/transcript/line.ts';
import { selectContext } from '../../../src/transcript/render/select.ts';
import { encodeWithBlobs } from './plain-blobs.ts';
import { PlainConvlog } from './plain-convlog.ts';
import { type Entries, fail, type PlainData, type PlainOptions, type PlainSession } from './plain-data.ts';
import { PlainNotes } from './plain-notes.ts';
import { PlainSources } from './plain-sources.ts';
import { PlainTransfer } from './plain-transfer.ts';

/** Lines of sessions: how they are written, read and waited for. The ground the other layers stand on. */
export class PlainLines {
  readonly options: PlainOptions;
  readonly data: PlainData;
  readonly convlog: PlainConvlog;
  readonly notes: Notes;
  readonly sources: Sources;
  readonly transfer: Transfer;
  protected isClosed = false;
  readonly #wakers = new Set<() => void>();

  constructor(options: PlainOptions, data: PlainData) {
    this.options = options;
    this.data = data;
    const gates = { open: () => this.open(), writable: () => this.writable() };
    this.convlog = new PlainConvlog(data.logged, options.now, gates);
    this.notes = new PlainNotes(data.notes, (id) => {
      this.open();
      return data.sessions.get(id.toLowerCase())?.id === id;
    });
    this.sources = new PlainSources(data, this);
    this.transfer = new PlainTransfer(data, () => this.open());
  }

  protected make(
    id: string,
    key: string,
    { cwd, parentId, settings, createdAt, owner: named, source }: Partial<port.SessionInit>,
  ): PlainSession {
    const parent = this.data.sessions.get(parentId?.toLowerCase() ?? '');
    const owner = named ?? (parent === undefined ? undefined : this.origin(parent).owner);
    if (settings !== undefined) assertStorable(settings);
    const timestamp = createdAt ?? this.options.now();
    const header = { type: 'session', version: 3, id, timestamp, ...(cwd !== undefined && { cwd }) };
    const line = encodeLine({ ...header, agentId: agentOfKey(key), key }, { q: 1, e: 0, b: '1/1' });
    const base = { id, key, createdAt: timestamp, lines: [line], leaf: null, epoch: 0, deleted: false };
    const maps = { keys: new Map(), blobs: new Map() };
    const session: PlainSession = { ...base, ...maps, ...(parentId !== undefined && { parentId }) };
    this.data.sessions.set(id.toLowerCase(), session);
    const origin = {
      ...(owner !== undefined && { owner }),
      ...(source !== undefined && { source: { ...source } }),
    };
    if (Object.keys(origin).length > 0) this.note(session, 'origin', origin);
    if (settings !== undefined) this.note(session, 'settings', settings);
    return session;
  }

  origin(session: PlainSession): Pick<port.SessionInit, 'owner' | 'source'> {
    const first = this.stored(session).find(
      ({ entry }) => entry.type === 'custom' && (entry as Entry)['customType'] === 'reprise.origin',
    );
    return ((first?.entry as Entry | undefined)?.['data'] ?? {}) as Pick<
      port.SessionInit,
      'owner' | 'source'
    >;
  }

  protected note(session: PlainSession, name: string, data: JsonObject = {}): void {
    this.write(session, [{ type: 'custom', customType: `reprise.${name}`, data }], '');
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

  async exportSession(id: string): Promise<Uint8Array> {
    return Buffer.from(this.find(id).lines.join(''));
  }

  async exportLines(id: string, { from, to }: LineRange): Promise<LinePart> {
    const { lines } = this.find(id);
    const some = lines.slice(from - 1, Math.min(to, from + 2));
    return { bytes: Buffer.from(some.join('')), next: Math.max(from, from + some.length) };
  }

  writable(): void {
    this.open();
    const { copy } = this.data;
    if (copy !== undefined && !copy.finished) throw fail('STORE_READ_ONLY', 'a copy is not finished');
  }

  protected open(): void {
    if (this.isClosed) throw fail('STORE_FAILED', 'the store is closed', 'none');
  }

  protected wake(): void {
    for (const waker of this.#wakers) waker();
  }

  protected async nextChange(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakers.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    this.#wakers.delete(resolve);
  }
}

function parse(line = ''): Entry | SessionHeader {
  return JSON.parse(line) as Entry | SessionHeader;
}

export function isLeafMove({ type, customType }: port.NewEntry): boolean {
  return type === 'custom' && customType === 'reprise.leaf';
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
