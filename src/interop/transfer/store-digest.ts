import { createHash, type Hash } from 'node:crypto';
import { normalKeyText } from '../../store/port/key-text.ts';
import type { Store } from '../../store/port/store.ts';
import type {
  ConvlogRecord,
  DamageRecord,
  InboundRecord,
  ItemRecord,
  SessionCopy,
  TransferRecord,
} from '../../store/port/transfer.ts';

/** A count of items and a sum of their hashes that does not depend on their order. */
export interface Tally {
  readonly count: number;
  readonly sum: bigint;
}

export interface SessionDigest {
  /** SHA-256 of its canonical export. */
  readonly sha256: string;
  /** SHA-256 of its other copied data; a hash, because a key can have thousands of characters. */
  readonly facts: string;
}

/** A summary of a store's content for comparison with another store. */
export interface StoreDigest {
  readonly sessions: ReadonlyMap<string, SessionDigest>;
  /** Of transcripts and blobs. */
  readonly bytes: number;
  readonly blobs: Tally;
  readonly items: Tally;
  /** Inbox rows without their text, which is all that remains of those of a purged session. */
  readonly itemStates: Tally;
  readonly inbound: Tally;
  readonly keys: Tally;
  readonly convlog: Tally;
  readonly purged: Tally;
  /** Sessions that were listed but purged before the end. */
  readonly purgedMeanwhile: number;
  readonly damage: readonly DamageRecord[];
}

const MODULUS = 1n << 256n;

class Sum implements Tally {
  count = 0;
  sum = 0n;

  add(value: unknown): void {
    this.count++;
    const hash = createHash('sha256').update(JSON.stringify(value)).digest('hex');
    this.sum = (this.sum + BigInt(`0x${hash}`)) % MODULUS;
  }
}

/** Reads all records once, storing two hashes per session. */
export async function digestRecords(
  records: AsyncIterable<TransferRecord>,
  onBytes: (bytes: number) => void = () => undefined,
): Promise<StoreDigest> {
  const sessions = new Map<string, SessionDigest>();
  const sums = {
    blobs: new Map<string, Sum>(),
    items: new Sum(),
    itemStates: new Sum(),
    inbound: new Sum(),
    keys: new Sum(),
    convlog: new Sum(),
    purged: new Sum(),
  };
  /** Original ids by lower-case id, because a purged id may be known in lower case only. */
  const folded = new Map<string, string>();
  const damage: DamageRecord[] = [];
  let bytes = 0;
  let purgedMeanwhile = 0;
  let open:
    | { readonly id: string; readonly facts: string; readonly lines: Hash; hasLines: boolean }
    | undefined;
  const close = (): void => {
    if (open?.hasLines === true)
      sessions.set(open.id, { sha256: open.lines.digest('hex'), facts: open.facts });
    // A session without a readable line is not copied; it is reported as damage.
    else if (open !== undefined) sums.blobs.delete(open.id.toLowerCase());
    open = undefined;
  };
  for await (const record of records) {
    if (record.kind !== 'lines' && record.kind !== 'blob' && record.kind !== 'damage') close();
    switch (record.kind) {
      case 'session':
        folded.set(record.id.toLowerCase(), record.id);
        open = { id: record.id, facts: factsOf(record), lines: createHash('sha256'), hasLines: false };
        break;
      case 'lines':
        open?.lines.update(record.bytes);
        if (open !== undefined) open.hasLines = true;
        bytes += record.bytes.length;
        onBytes(bytes);
        break;
      case 'blob':
        of(sums.blobs, record.session.toLowerCase()).add([record.session, record.hash]);
        bytes += record.bytes.length;
        onBytes(bytes);
        break;
      case 'item':
        sums.items.add([sums.items.count, ...itemOf(record), record.item.body, record.item.detail]);
        sums.itemStates.add([sums.itemStates.count, ...itemOf(record)]);
        break;
      case 'inbound':
        sums.inbound.add(inboundOf(record));
        break;
      case 'key':
        sums.keys.add([record.key, record.sessionId, record.counter]);
        break;
      case 'convlog':
        sums.convlog.add(lineOf(record));
        break;
      case 'purged':
        sums.purged.add(record.id.toLowerCase());
        sums.blobs.delete(record.id.toLowerCase());
        if (sessions.delete(folded.get(record.id.toLowerCase()) ?? record.id)) purgedMeanwhile++;
        break;
      case 'damage':
        damage.push(record);
        break;
      case 'epoch':
        break;
    }
  }
  close();
  const { blobs, ...tallies } = sums;
  return { sessions, bytes, blobs: total(blobs), ...tallies, purgedMeanwhile, damage };
}

export async function* recordsOf(store: Pick<Store, 'transfer'>): AsyncGenerator<TransferRecord> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.transfer.read(cursor);
    yield* page.records;
    ({ cursor } = page);
  }
}

/**
 * The differences as text; empty for equal stores. If other processes wrote during the copy, the current sessions of
 * keys may differ.
 */
export function differences(
  left: StoreDigest,
  right: StoreDigest,
  { whileWritten = false }: { readonly whileWritten?: boolean } = {},
): string[] {
  const found: string[] = [];
  for (const [id, { sha256, facts }] of left.sessions) {
    const other = right.sessions.get(id);
    if (other === undefined) found.push(`session ${id} is missing`);
    else if (other.sha256 !== sha256) found.push(`session ${id} has other lines`);
    else if (other.facts !== facts) found.push(`session ${id} has another key, agent, parent, time or epoch`);
  }
  for (const id of right.sessions.keys()) if (!left.sessions.has(id)) found.push(`session ${id} is too many`);
  const items = whileWritten && left.purgedMeanwhile > 0 ? 'itemStates' : 'items';
  const tallies = [
    'blobs',
    items,
    'inbound',
    'convlog',
    'purged',
    ...(whileWritten ? [] : ['keys']),
  ] as const;
  for (const name of tallies as readonly (keyof typeof NAMES)[]) {
    const [mine, other] = [left[name], right[name]];
    if (mine.count !== other.count)
      found.push(`there are ${other.count} ${NAMES[name]} instead of ${mine.count}`);
    else if (mine.sum !== other.sum) found.push(`${NAMES[name]} differ`);
  }
  return found;
}

const NAMES = {
  blobs: 'blobs',
  items: 'accepted messages',
  itemStates: 'accepted messages',
  inbound: 'keys of messages',
  keys: 'session keys',
  convlog: 'lines of channels',
  purged: 'purged ids',
} as const;

function of(sums: Map<string, Sum>, id: string): Sum {
  const sum = sums.get(id) ?? new Sum();
  sums.set(id, sum);
  return sum;
}

function total(sums: ReadonlyMap<string, Sum>): Tally {
  let count = 0;
  let sum = 0n;
  for (const each of sums.values()) {
    count += each.count;
    sum = (sum + each.sum) % MODULUS;
  }
  return { count, sum };
}

/** A fixed order of fields, independent of the store. Damage is reported separately. */
function factsOf({ agentId, key, parentId, createdAt, epoch }: SessionCopy): string {
  const facts = JSON.stringify([agentId, key, parentId, createdAt, epoch]);
  return createHash('sha256').update(facts).digest('base64url');
}

function itemOf({ item }: ItemRecord): unknown[] {
  const { inboxId, sessionId, sessionKey, state, group, attempts, createdAt, carries } = item;
  return [inboxId, sessionId, sessionKey, state, item.class, group, attempts, createdAt, carries];
}

/** Normalizes keys that an earlier version stored in another form. */
function inboundOf({ agentId, source, key, hash, inboxId }: InboundRecord): unknown[] {
  return [agentId, normalKeyText(source), normalKeyText(key), hash, inboxId];
}

function lineOf({ line }: ConvlogRecord): unknown[] {
  const { agentId, channelType, channelId, number, ts, role, content, sender, sessionId, messageId } = line;
  return [
    [agentId, channelType, channelId, number, ts, role, content],
    [sender?.id, sender?.name, sessionId, messageId],
  ];
}
