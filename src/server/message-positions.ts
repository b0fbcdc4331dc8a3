import { entriesIn, readHistory } from '../engine/history/read-history.ts';
import type { Reprise } from '../engine/reprise.ts';
import { branchOf, type MessagePositions, messageIds, positionsOf } from '../protocol/records.ts';
import type { SessionRecord } from './find-session.ts';

/** Counting reads the whole history once, so messages of longer sessions have no position. */
const MAX_LINES = 20_000;
const MAX_SESSIONS = 16;
/** More new lines than this are rarer than a first look, and read the same way. */
const MAX_NEW_LINES = 200;

type Store = Reprise['store'];

interface Counted {
  readonly lastSeq: number;
  readonly leaf: string | null;
  readonly ids: readonly string[];
}

const counted = new WeakMap<Store, Map<string, Counted>>();

/** @returns undefined for a session that is too long to be counted. */
export async function positionsIn(
  store: Store,
  record: SessionRecord,
): Promise<MessagePositions | undefined> {
  const { id, lastSeq, leaf } = record;
  if (lastSeq > MAX_LINES) return undefined;
  const sessions = counted.get(store) ?? new Map<string, Counted>();
  counted.set(store, sessions);
  const before = sessions.get(id);
  const ids =
    before?.lastSeq === lastSeq
      ? before.ids
      : ((await newIds(store, record, before)) ?? messageIds(branchOf(await readHistory(store, id))));
  sessions.delete(id); // the newest is last
  sessions.set(id, { lastSeq, leaf, ids });
  const [oldest] = sessions.keys();
  if (sessions.size > MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
  return positionsOf(ids);
}

/** @returns undefined unless the session only continued from where it was counted. */
async function newIds(
  store: Store,
  { id, lastSeq, leaf }: SessionRecord,
  before: Counted | undefined,
): Promise<readonly string[] | undefined> {
  if (before === undefined || lastSeq < before.lastSeq || lastSeq - before.lastSeq > MAX_NEW_LINES)
    return undefined;
  const page = await store.read(id, { from: before.lastSeq + 1, limit: MAX_NEW_LINES });
  const added = new Map(entriesIn(page.entries).map((entry) => [entry.id, entry]));
  const path = [];
  for (let at = leaf; at !== before.leaf; ) {
    const entry = added.get(at ?? '');
    if (entry === undefined) return undefined;
    added.delete(entry.id); // a file of another tool may hold a cycle
    path.push(entry);
    at = entry.parentId;
  }
  return [...before.ids, ...messageIds(path.reverse())];
}
