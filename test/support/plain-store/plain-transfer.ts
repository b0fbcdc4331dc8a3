import { createHash } from 'node:crypto';
import { RepriseError } from '../../../src/errors.ts';
import type { InboxItem } from '../../../src/store/port/inbox.ts';
import type * as port from '../../../src/store/port/transfer.ts';
import { type Entry, isSideEntry } from '../../../src/transcript/entry.ts';
import { decodeLine } from '../../../src/transcript/line.ts';
import type { PlainCopy, PlainData, PlainSession } from './plain-data.ts';

const JUMP = 1_000_000;
const PAGE_BYTES = 1024 * 1024;
const LF = 10;

/** Copies of whole stores on Maps: every pass reads one snapshot, a megabyte at a time. */
export class PlainTransfer implements port.Transfer {
  readonly #data: PlainData;
  readonly #open: () => void;

  constructor(data: PlainData, open: () => void) {
    this.#data = data;
    this.#open = open;
  }

  async read(cursor?: string): Promise<port.TransferPage> {
    this.#open();
    const { passes } = this.#data;
    if (cursor === undefined) passes.push(recordsOf(this.#data));
    const [pass = passes.length - 1, from = 0] = cursor?.split(':').map(Number) ?? [];
    const all = passes[pass];
    if (all === undefined) throw new RepriseError('INVALID_INPUT', 'not a cursor of this store');
    let bytes = 0;
    let to = from;
    while (to < all.length && bytes < PAGE_BYTES) bytes += weightOf(all[to++]);
    return { records: all.slice(from, to), cursor: to < all.length ? `${pass}:${to}` : null };
  }

  async write(records: readonly port.TransferRecord[], { run, cursor }: port.TransferNote): Promise<void> {
    this.#open();
    const data = this.#data;
    if (data.copy === undefined && !isEmpty(data))
      throw new RepriseError('INVALID_INPUT', 'a copy begins in an empty store');
    const copy = data.copy ?? { run, cursor: null, finished: false, epoch: 0 };
    if (copy.run !== run || copy.finished) throw new RepriseError('INVALID_INPUT', 'another copy is here');
    for (const record of records) check(record);
    data.copy = copy;
    for (const record of records) this.take(record, copy);
    copy.cursor = cursor;
  }

  async finish(run: string, { hold = false }: port.FinishOptions = {}): Promise<void> {
    this.#open();
    const { copy } = this.#data;
    if (copy?.run !== run) throw new RepriseError('INVALID_INPUT', 'no such copy was begun here');
    if (copy.finished) return;
    const epochs = [...this.#data.sessions.values()].map(({ epoch }) => epoch);
    this.#data.epochFloor = Math.max(copy.epoch, this.#data.epochFloor, ...epochs) + JUMP;
    // What was purged while it was copied keeps no key.
    for (const [key, id] of this.#data.active)
      if (this.#data.purged.has(id.toLowerCase())) this.#data.active.delete(key);
    copy.finished = true;
    if (hold)
      for (const [id, item] of this.#data.items)
        if (item.state === 'accepted' || item.state === 'running' || item.state === 'waiting')
          this.#data.items.set(id, { ...item, state: 'held', detail: { heldFrom: item.state } });
  }

  async held(): Promise<InboxItem[]> {
    this.#open();
    return structuredClone([...this.#data.items.values()].filter(({ state }) => state === 'held'));
  }

  async release({ cancel = false }: port.ReleaseHeldOptions = {}): Promise<number> {
    const held = await this.held();
    for (const { detail, ...item } of held) {
      const state = (detail?.['heldFrom'] ?? 'accepted') as InboxItem['state'];
      const after = cancel ? { state: 'cancelled' as const, detail: { reason: 'restored' } } : { state };
      this.#data.items.set(item.inboxId, { ...item, ...after });
      const { sessionId, inboxId } = item;
      this.#data.changes.push({ sessionId, inboxId, state: after.state });
    }
    return held.length;
  }

  async state(): Promise<port.TransferState> {
    this.#open();
    const { copy } = this.#data;
    const empty = isEmpty(this.#data);
    if (copy === undefined) return { empty };
    const { run, cursor, finished } = copy;
    return { empty, run: { run, cursor, finished } };
  }

  take(record: port.TransferRecord, copy: PlainCopy): void {
    const data = this.#data;
    switch (record.kind) {
      case 'epoch':
        copy.epoch = Math.max(copy.epoch, record.epoch);
        break;
      case 'item':
        data.items.set(record.item.inboxId, structuredClone(record.item) as InboxItem);
        break;
      case 'inbound': {
        const { agentId, source, key, hash, inboxId } = record;
        data.inbound.set(`[${JSON.stringify(agentId)},${source},${key}]`, { hash, inboxId });
        break;
      }
      case 'key':
        if (record.sessionId === null) data.active.delete(record.key);
        else data.active.set(record.key, record.sessionId);
        break;
      case 'session':
        copy.session = record;
        this.begin(record);
        break;
      case 'blob':
        data.sessions.get(record.session.toLowerCase())?.blobs.set(record.hash, record.bytes);
        break;
      case 'lines': {
        const session = data.sessions.get(record.session.toLowerCase());
        for (const [i, line] of linesOf(record).entries())
          if (session !== undefined && record.first + i > session.lines.length) push(session, line);
        if (session?.deleted === true && data.active.get(session.key) === session.id)
          data.active.delete(session.key);
        break;
      }
      case 'convlog': {
        const of = data.logged.filter((line) => chatOf(line) === chatOf(record.line));
        if (record.line.number > of.length) data.logged.push(structuredClone(record.line));
        break;
      }
      case 'purged':
        data.sessions.delete(record.id.toLowerCase());
        data.purged.add(record.id.toLowerCase());
        break;
      case 'damage':
        break;
    }
  }

  begin({ id, key, parentId, createdAt, epoch }: port.SessionCopy): void {
    const known = this.#data.sessions.get(id.toLowerCase());
    if (known !== undefined) {
      known.epoch = Math.max(known.epoch, epoch);
      return;
    }
    this.#data.sessions.set(id.toLowerCase(), {
      id,
      key,
      createdAt,
      ...(parentId !== undefined && { parentId }),
      lines: [],
      keys: new Map(),
      blobs: new Map(),
      leaf: null,
      epoch,
      deleted: false,
    });
  }
}

function recordsOf(data: PlainData): port.TransferRecord[] {
  const sessions = [...data.sessions.values()];
  const epoch = Math.max(data.epochFloor, ...sessions.map((session) => session.epoch), 0);
  return [
    { kind: 'epoch', epoch },
    ...[...data.items.values()].map((item) => ({ kind: 'item' as const, item })),
    ...[...data.inbound].map(([name, { hash, inboxId }]) => {
      const [agentId, source, key] = JSON.parse(name) as [string, string, string];
      const names = { source: JSON.stringify(source), key: JSON.stringify(key) };
      return { kind: 'inbound' as const, agentId, ...names, hash, inboxId };
    }),
    ...[...data.active].map(([key, sessionId]) => ({ kind: 'key' as const, key, sessionId, counter: 1 })),
    ...sessions.flatMap(sessionRecords),
    ...data.logged.map((line) => ({ kind: 'convlog' as const, line: structuredClone(line) })),
    ...[...data.purged].map((id) => ({ kind: 'purged' as const, id })),
  ];
}

function sessionRecords(session: PlainSession): port.TransferRecord[] {
  const { id, key, parentId, createdAt, epoch, lines, blobs } = session;
  const agentId = String((JSON.parse(lines[0] ?? '{}') as { agentId?: unknown }).agentId);
  const parent = parentId === undefined ? {} : { parentId };
  return [
    { kind: 'session', id, agentId, key, ...parent, createdAt, epoch, lastSeq: lines.length },
    ...[...blobs].map(([hash, bytes]) => ({ kind: 'blob' as const, session: id, hash, bytes })),
    ...lines.map((line, i) => ({
      kind: 'lines' as const,
      session: id,
      first: i + 1,
      bytes: Buffer.from(line),
    })),
  ];
}

/** What one of our lines changes in its session. */
function push(session: PlainSession, line: string): void {
  session.lines.push(line);
  const seq = session.lines.length;
  const decoded = decodeLine(Buffer.from(line.slice(0, -1)));
  if (decoded.kind !== 'record' || decoded.seal === undefined || decoded.seal === 'broken') return;
  const { k, h = '', b } = decoded.seal;
  const [i = 1, n = 1] = b.split('/').map(Number);
  if (k !== undefined)
    session.keys.set(k, { hash: h, receipt: { firstSeq: seq - i + 1, lastSeq: seq - i + n } });
  if (decoded.record['type'] === 'session') return;
  const entry = decoded.record as Entry;
  if (entry['customType'] === 'reprise.deleted') session.deleted = true;
  if (entry['customType'] === 'reprise.restored') session.deleted = false;
  if (entry['customType'] === 'reprise.leaf') session.leaf = entry.parentId;
  else if (!isSideEntry(entry)) session.leaf = entry.id;
}

function check(record: port.TransferRecord): void {
  if (record.kind === 'blob' && createHash('sha256').update(record.bytes).digest('hex') !== record.hash)
    throw new RepriseError('STORE_CORRUPT', 'a blob has other bytes than its name says');
  if (record.kind !== 'lines') return;
  for (const line of linesOf(record)) {
    const decoded = decodeLine(Buffer.from(line.slice(0, -1)));
    if (decoded.kind !== 'record' || decoded.seal === 'broken')
      throw new RepriseError('STORE_CORRUPT', 'a line is not what was sealed');
  }
}

function linesOf({ bytes }: port.LinesRecord): string[] {
  const buffer = Buffer.from(bytes);
  const lines: string[] = [];
  for (let start = 0; start < buffer.length; ) {
    const end = buffer.indexOf(LF, start) + 1;
    lines.push(buffer.subarray(start, end).toString());
    start = end;
  }
  return lines;
}

function weightOf(record: port.TransferRecord | undefined): number {
  if (record?.kind === 'blob' || record?.kind === 'lines') return record.bytes.length;
  return JSON.stringify(record).length;
}

function isEmpty({ sessions, items, purged, active, logged }: PlainData): boolean {
  return sessions.size + items.size + purged.size + active.size + logged.length === 0;
}

const chatOf = ({ agentId, channelType, channelId }: port.ConvlogRecord['line']): string =>
  JSON.stringify([agentId, channelType, channelId]);
