import assert from 'node:assert/strict';
import type { InboxItem } from '../../../src/store/port/inbox.ts';
import type { SessionRecord, Store } from '../../../src/store/port/store.ts';
import type { TransferRecord } from '../../../src/store/port/transfer.ts';
import { blobNames } from '../../../src/transcript/blobs.ts';
import { readAll, readEntries, refused } from '../kit.ts';

export const RUN = 'case';

/** A source of records, unchanged or modified by a test. */
interface Readable {
  readonly transfer: Pick<Store['transfer'], 'read'>;
}

export function pagesOf(source: Store, change: (record: TransferRecord) => TransferRecord): Readable {
  return {
    transfer: {
      read: async (cursor) => {
        const page = await source.transfer.read(cursor);
        return { ...page, records: page.records.map(change) };
      },
    },
  };
}

/** Copies everything once, from the start. */
export async function copyAll(source: Readable, target: Store): Promise<void> {
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await source.transfer.read(cursor);
    await target.transfer.write(page.records, { run: RUN, cursor: page.cursor });
    ({ cursor } = page);
  }
}

/** Compares everything the port returns, byte by byte where possible. */
export async function sameStores(left: Store, right: Store): Promise<void> {
  const sessions = await allSessions(left);
  assert.deepEqual(await allSessions(right), sessions);
  for (const { id, sessionKey } of sessions) {
    assert.deepEqual(shown(await right.get(id)), shown(await left.get(id)));
    assert.ok(
      Buffer.from(await right.exportSession(id)).equals(Buffer.from(await left.exportSession(id))),
      `session ${id} is exported alike`,
    );
    assert.deepEqual(await readAll(right, id), await readAll(left, id));
    assert.deepEqual(await right.tail(id), await left.tail(id));
    for (const name of blobNames(await readEntries(left, id)))
      assert.ok(Buffer.from(await right.blob(id, name)).equals(await left.blob(id, name)), name);
    assert.deepEqual((await right.active(sessionKey))?.id, (await left.active(sessionKey))?.id);
  }
  assert.deepEqual(await right.inbox.pending(), await left.inbox.pending());
  const found = await recordsOf(left);
  assert.deepEqual(plain(await recordsOf(right)), plain(found));
  for (const record of found) {
    if (record.kind === 'item') await sameItem(left, right, record.item);
    if (record.kind === 'purged') await refused(right.get(record.id), 'GONE');
  }
  const { chats } = await left.convlog.list();
  assert.deepEqual((await right.convlog.list()).chats, chats);
  for (const chat of chats) assert.deepEqual(await right.convlog.read(chat), await left.convlog.read(chat));
}

async function sameItem(left: Store, right: Store, { inboxId }: InboxItem): Promise<void> {
  assert.deepEqual(await right.inbox.get(inboxId), await left.inbox.get(inboxId));
}

/** Titles are for people, and not every database can store every character of one. */
function shown({ title, label, ...record }: SessionRecord): SessionRecord {
  const plainText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');
  return { ...record, title: plainText(title), ...(label !== undefined && { label: plainText(label) }) };
}

async function allSessions(store: Store): Promise<SessionRecord[]> {
  const all: SessionRecord[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.list({ status: 'any', ...(cursor !== undefined && { cursor }) });
    all.push(...page.sessions.map(shown));
    ({ cursor } = page);
  }
  return all;
}

async function recordsOf(store: Store): Promise<TransferRecord[]> {
  const all: TransferRecord[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.transfer.read(cursor);
    all.push(...page.records);
    ({ cursor } = page);
  }
  return all;
}

/** Removes what may differ between two stores with the same content: order, page boundaries and the highest epoch. */
function plain(records: readonly TransferRecord[]): TransferRecord[] {
  const kept = records.filter(({ kind }) => !['epoch', 'lines', 'blob'].includes(kind));
  const folded = kept.map((record) =>
    record.kind === 'purged' ? { ...record, id: record.id.toLowerCase() } : record,
  );
  return folded.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
}

function placeOf(record: TransferRecord): string {
  if (record.kind === 'item') return `item ${record.item.inboxId}`;
  if (record.kind === 'session') return `session ${record.id}`;
  return JSON.stringify(record, record.kind === 'convlog' ? undefined : Object.keys(record).sort());
}
