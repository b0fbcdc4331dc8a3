import { createHash } from 'node:crypto';
import { failure } from '../../messages/failure.ts';
import { quotedValue } from '../../messages/quoted.ts';
import { blobHash, blobNames, extractBlobs } from '../../transcript/blobs.ts';
import { type Entry, isSideEntry } from '../../transcript/entry.ts';
import { entryIdForSeq, longEntryIdForSeq } from '../../transcript/entry-id.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { encodeLine } from '../../transcript/line.ts';
import type { NewEntry } from '../port/store.ts';
import { sha256 } from '../shared/sha256.ts';
import { factsOf } from './facts.ts';
import { applyEntry, type SessionState } from './session-state.ts';

/** What is known of the session besides its row; asked only where an entry names another one, or a blob. */
export interface SealContext {
  /** ISO time of the next entry. */
  readonly now: () => string;
  readonly seqOf: (id: string) => number | undefined;
  /** An entry that was there before. */
  readonly entryAt: (seq: number) => Entry | undefined;
  readonly hasBlob: (hash: string) => boolean;
  /** Whether a line of another tool has this id. */
  readonly isTaken: (id: string) => boolean;
  readonly k?: string;
  readonly h?: string;
  readonly encode?: typeof encodeLine;
}

export interface SealedEntries {
  /** With their LF. */
  readonly lines: readonly string[];
  /** Of the entries, in the same order. */
  readonly ids: readonly string[];
  /** Large parts that left their lines, by their hash. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}

/**
 * Entries as lines, numbered on from a draft of their session's row, which is changed as they say. Where one is
 * refused this throws, and the draft is of no use: nothing else has been touched.
 */
export function sealEntries(
  draft: SessionState,
  entries: readonly NewEntry[],
  { now, seqOf, entryAt, hasBlob, isTaken, encode = encodeLine, ...keyed }: SealContext,
): SealedEntries {
  const lines: string[] = [];
  const ids: string[] = [];
  const blobs = new Map<string, Uint8Array>();
  const keep = (bytes: Uint8Array): string => {
    const hash = sha256(bytes);
    blobs.set(hash, bytes);
    return `sha256:${hash}`;
  };
  const firstSeq = draft.seq + 1;
  const ownOrEarlier = (seq: number): Entry | undefined => {
    const own = lines[seq - firstSeq];
    return own === undefined ? entryAt(seq) : (JSON.parse(own) as Entry);
  };
  for (const [i, entry] of entries.entries()) {
    const seq = firstSeq + i;
    const facts = factsOf(entry);
    // Looked up before this line has a number: an entry cannot hang under itself.
    const parentId =
      facts.leafMove === true ? moveTarget(draft.id, entry, { seqOf, entryAt: ownOrEarlier }) : draft.leaf;
    draft.q++;
    const id = ownId(draft, isTaken);
    const timestamp = now();
    const { type, id: _id, parentId: _parent, timestamp: _time, ...rest } = entry as JsonObject;
    const said = { type, id, parentId, timestamp, ...rest };
    const seal = { q: draft.q, e: draft.epoch, b: `${i + 1}/${entries.length}`, ...(i === 0 && keyed) };
    const record = extractBlobs(said, keep);
    // The limit is on what was said: put back into its line, it must still be one that every reader takes.
    if (record !== said) encode(said, seal);
    for (const name of blobNames([record])) {
      const hash = blobHash(name);
      if (blobs.has(hash) || hasBlob(hash)) continue;
      throw failure(
        'INVALID_INPUT',
        'entry.noBlob',
        { id: draft.id, blob: name },
        { details: { blob: name } },
      );
    }
    lines.push(encode(record, seal));
    ids.push(id);
    applyEntry(draft, record, { id, parentId, seq, timestamp, seqOf });
  }
  return { lines, ids, blobs };
}

/** Eight characters, or sixteen where a foreign line has taken those. */
function ownId({ seq, q }: SessionState, isTaken: (id: string) => boolean): string {
  const short = entryIdForSeq(q);
  // Equal but for this very line: no foreign line is in this session.
  return seq === q - 1 || !isTaken(short) ? short : longEntryIdForSeq(q);
}

interface EntryLookup {
  readonly seqOf: (id: string) => number | undefined;
  readonly entryAt: (seq: number) => Entry | undefined;
}

/** Side entries are never the leaf: a move to one is a move to where it hangs. */
function moveTarget(id: string, { parentId }: NewEntry, { seqOf, entryAt }: EntryLookup): string | null {
  for (let target = parentId; ; ) {
    if (target === null) return null;
    const seq = typeof target === 'string' ? seqOf(target) : undefined;
    if (typeof target !== 'string' || seq === undefined) {
      throw failure(
        'INVALID_INPUT',
        'entry.noParent',
        { id, parent: quotedValue(target) },
        { details: { parentId } },
      );
    }
    const entry = entryAt(seq);
    if (entry === undefined || !isSideEntry(entry)) return target;
    target = entry.parentId;
  }
}

/** Side entries alone never move what a running turn builds on. */
export function movesLeaf(entries: readonly NewEntry[]): boolean {
  return entries.some((entry) => {
    const { side, leafMove } = factsOf(entry);
    return !side || leafMove === true;
  });
}

/** First 16 hex of SHA-256 of what the caller said. */
export function bodyHash(entries: readonly NewEntry[]): string {
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex').slice(0, 16);
}
