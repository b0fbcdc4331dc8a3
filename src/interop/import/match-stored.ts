import { loadBlobs } from '../../store/copy/load-blobs.ts';
import type { SessionRecord, Store } from '../../store/port/store.ts';
import { hydrateBlobs } from '../../transcript/blobs.ts';
import { customData, type Entry, entryTime, isSideEntry } from '../../transcript/entry.ts';
import { parseTranscript } from '../../transcript/reader.ts';
import { answerBlocks, entryHash, sourceEntryOf, sourceFields } from './source-entry.ts';

/** What a session here already has of a source. */
export interface StoredPart {
  /** The entries of the source. An answer that grew since the last import is followed by an entry with its new blocks. */
  readonly entries: readonly Entry[];
  /** The id here of each entry that is already stored, by its position in `entries`. */
  readonly stored: ReadonlyMap<number, string>;
  /** Entries that have another content here. They become branches. */
  readonly changed: number;
  /** Whether the source begins with something that is stored here: they are the same conversation. */
  readonly hasBeginning: boolean;
  /** The current branch was continued or chosen here, so an import must not move it. */
  readonly isContinued: boolean;
  /** The seq of the last entry that an import wrote. */
  readonly lastSeq: number;
}

interface Version {
  readonly id: string;
  readonly hash: string;
  /** The stored parent. Entries with later blocks of an answer are skipped. */
  readonly parent: string | null;
  readonly from: number;
  readonly blocks: number | undefined;
}

/** Leaf moves that an import wrote have this field in their data. */
export const MOVED_BY_IMPORT = 'import';

/** Compares the entries of a source with a session that was imported from it, or that is their original. */
export async function matchStored(
  store: Store,
  { id }: Pick<SessionRecord, 'id'>,
  entries: readonly Entry[],
  { byText }: { readonly byText: boolean },
): Promise<StoredPart> {
  const known = await readStored(store, id);
  const parts = new Map<string, Entry>();
  /** The id here of each entry of the source that is stored, before later parts of answers. */
  const idHere = new Map<string, string>();
  /** Where entries below it hang: a side entry is no parent here. */
  const chain = new Map<string, string | null>();
  const isStored = new Set<Entry>();
  let changed = 0;
  for (const entry of entries) {
    const versions = known.bySource.get(entry.id) ?? [];
    const parent = entry.parentId === null ? null : chain.get(entry.parentId);
    const isPlaced = (version: Version): boolean => isSideEntry(entry) || version.parent === parent;
    const whole = entryHash(entry);
    const same = versions.find(
      (version) => version.from === 0 && version.hash === whole && isPlaced(version),
    );
    const grown = same === undefined ? findGrown(entry, versions, isPlaced) : undefined;
    const here =
      same?.id ?? grown?.id ?? (versions.length > 0 ? undefined : known.findOwn(entry, whole, byText));
    if (isSideEntry(entry)) {
      if (parent !== undefined) chain.set(entry.id, parent);
    } else if (here !== undefined) chain.set(entry.id, here);
    if (here === undefined) {
      if (versions.length > 0 && !versions.some(({ hash }) => hash === whole)) changed++;
      continue;
    }
    idHere.set(entry.id, here);
    isStored.add(entry);
    if (grown?.rest !== undefined) parts.set(entry.id, grown.rest);
  }
  const all = placeParts(entries, parts, isStored);
  const stored = new Map<number, string>();
  for (const [position, entry] of all.entries()) {
    const here = isStored.has(entry) ? idHere.get(entry.id) : undefined;
    if (here !== undefined) stored.set(position, known.lastPart(here));
  }
  const first = entries.find(({ type }) => type === 'message' || type === 'compaction');
  return {
    entries: all,
    stored,
    changed,
    hasBeginning: first !== undefined && isStored.has(first),
    isContinued: known.isContinued,
    lastSeq: known.lastSeq,
  };
}

/**
 * An answer of which only the first blocks are stored. @returns the entry here, and an entry with the blocks that are
 * missing, if any.
 */
function findGrown(
  entry: Entry,
  versions: readonly Version[],
  isPlaced: (version: Version) => boolean,
): { readonly id: string; readonly rest: Entry | undefined } | undefined {
  const blocks = answerBlocks(entry);
  if (blocks === undefined) return undefined;
  const partAt = (at: number, fits: (version: Version) => boolean): Version | undefined =>
    versions.find((version) => {
      const { from, blocks: to, hash } = version;
      if (from !== at || to === undefined || to <= at || to > blocks.length || !fits(version)) return false;
      return entryHash(entry, from, to) === hash;
    });
  const first = partAt(0, isPlaced);
  if (first === undefined) return undefined;
  let end = first.blocks ?? 0;
  for (let next = partAt(end, () => true); next !== undefined; next = partAt(end, () => true))
    end = next.blocks ?? blocks.length;
  return { id: first.id, rest: end < blocks.length ? { ...entry, partFrom: end } : undefined };
}

interface Stored {
  readonly bySource: ReadonlyMap<string, readonly Version[]>;
  /** An entry that no import wrote, by its own id, or by its time and text. */
  findOwn(entry: Entry, hash: string, byText: boolean): string | undefined;
  /** The entry that holds the last blocks of an answer. */
  lastPart(id: string): string;
  readonly isContinued: boolean;
  readonly lastSeq: number;
}

async function readStored(store: Store, id: string): Promise<Stored> {
  const { entries } = parseTranscript(await store.exportSession(id), { sessionId: id });
  const bySource = new Map<string, Version[]>();
  const partBelow = new Map<string, string>();
  const parentOfPart = new Map<string, string | null>();
  const own: Entry[] = [];
  let isContinued = false;
  let lastSeq = 1;
  for (const entry of entries) {
    const source = sourceEntryOf(entry);
    const move = customData(entry, 'reprise.leaf');
    if (move !== undefined) isContinued = move[MOVED_BY_IMPORT] !== true;
    else if (!isSideEntry(entry)) isContinued = source === undefined;
    if (source === undefined) {
      if (move === undefined) own.push(entry);
      continue;
    }
    lastSeq = entry.seal?.q ?? lastSeq;
    const { from = 0, blocks } = source;
    const parent = skipParts(entry.parentId, parentOfPart);
    if (from > 0) {
      parentOfPart.set(entry.id, entry.parentId);
      if (entry.parentId !== null) partBelow.set(entry.parentId, entry.id);
    }
    const versions = bySource.get(source.id) ?? [];
    bySource.set(source.id, versions);
    versions.push({ id: entry.id, hash: source.hash, parent, from, blocks });
  }
  const ownIds = await indexOwn(store, id, own);
  const isTaken = new Set<string>();
  return {
    bySource,
    findOwn: (entry, hash, byText) => {
      const name = `${entry.id} ${hash}`;
      const found = ownIds.get(name) ?? (byText ? ownIds.get(textName(entry)) : undefined) ?? [];
      const free = found.find((each) => !isTaken.has(each));
      if (free !== undefined) isTaken.add(free);
      return free;
    },
    lastPart: (each) => {
      let last = each;
      for (let next = partBelow.get(last); next !== undefined; next = partBelow.get(last)) last = next;
      return last;
    },
    isContinued,
    lastSeq,
  };
}

function skipParts(parent: string | null, parentOfPart: ReadonlyMap<string, string | null>): string | null {
  let at = parent;
  for (let up = at; up !== null && parentOfPart.has(up); up = at) at = parentOfPart.get(up) ?? null;
  return at;
}

async function indexOwn(store: Store, id: string, own: readonly Entry[]): Promise<Map<string, string[]>> {
  const index = new Map<string, string[]>();
  if (own.length === 0) return index;
  const add = (name: string, entryId: string): void => {
    index.set(name, [...(index.get(name) ?? []), entryId]);
  };
  const whole = hydrateBlobs(own, await loadBlobs(store, id, own));
  for (const entry of whole) {
    add(`${entry.id} ${entryHash(entry)}`, entry.id);
    if (entry.type === 'message') add(textName(entry), entry.id);
  }
  return index;
}

function textName(entry: Entry): string {
  return JSON.stringify([entryTime(entry), entry['message']]);
}

/**
 * Puts the new blocks of answers where the conversation continues: before the first entry below the answer that is not
 * stored yet, so that calls stay in front of their results.
 */
function placeParts(
  entries: readonly Entry[],
  parts: ReadonlyMap<string, Entry>,
  isStored: Set<Entry>,
): readonly Entry[] {
  if (parts.size === 0) return entries;
  /** The answer with missing blocks that an entry is below, by the id of the entry. */
  const waiting = new Map<string, Entry>();
  const lastBelow = new Map<Entry, string>();
  const placed: Entry[] = [];
  for (const entry of entries) {
    const above = entry.parentId === null ? undefined : waiting.get(entry.parentId);
    if (above !== undefined && !isStored.has(entry) && lastBelow.has(above)) {
      const part = partEntry(above, entry.parentId);
      lastBelow.delete(above);
      placed.push(part);
      const moved = { ...entry, parentId: part.id };
      placed.push(moved);
      continue;
    }
    placed.push(entry);
    const rest = parts.get(entry.id);
    const below = isStored.has(entry) ? (rest ?? above) : undefined;
    if (below === undefined) continue;
    waiting.set(entry.id, below);
    lastBelow.set(below, entry.id);
  }
  for (const [rest, parentId] of lastBelow) placed.push(partEntry(rest, parentId));
  return placed;
}

function partEntry(rest: Entry, parentId: string | null): Entry {
  const { partFrom, message, ...entry } = rest;
  const from = Number(partFrom);
  const { content, usage: _usage, ...fields } = message as { content: readonly unknown[]; usage?: unknown };
  const source = { id: rest.id, hash: entryHash(rest, from), from, blocks: content.length };
  return {
    ...(entry as Entry),
    id: `${rest.id}+${from}`,
    parentId,
    message: { ...fields, content: content.slice(from) },
    ...sourceFields(source),
  };
}
