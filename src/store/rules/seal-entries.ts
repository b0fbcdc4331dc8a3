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

/** Access to the session beyond its row; used only if an entry references another entry or a blob. */
export interface SealContext {
  /** Returns the ISO time for the next entry. */
  readonly now: () => string;
  readonly seqOf: (id: string) => number | undefined;
  /** Returns an entry that was stored earlier. */
  readonly entryAt: (seq: number) => Entry | undefined;
  readonly hasBlob: (hash: string) => boolean;
  /** Whether a line of another tool has this id. */
  readonly isTaken: (id: string) => boolean;
  readonly k?: string;
  readonly h?: string;
  readonly encode?: typeof encodeLine;
}

export interface SealedEntries {
  /** Sealed lines, each with its LF. */
  readonly lines: readonly string[];
  /** Ids of the entries, in the same order. */
  readonly ids: readonly string[];
  /** Large parts that were moved out of their lines, by hash. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
}

/**
 * Converts entries to sealed lines, numbered from a draft of their session's row, and updates the draft. Throws if an
 * entry is refused; the draft is then invalid, and nothing else was changed.
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
    // Resolve the parent before this line has a number: an entry cannot be its own parent.
    const parentId =
      facts.leafMove === true ? moveTarget(draft.id, entry, { seqOf, entryAt: ownOrEarlier }) : draft.leaf;
    draft.q++;
    const id = ownId(draft, isTaken);
    const timestamp = now();
    const { type, id: _id, parentId: _parent, timestamp: _time, ...rest } = entry as JsonObject;
    const said = { type, id, parentId, timestamp, ...rest };
    const seal = { q: draft.q, e: draft.epoch, b: `${i + 1}/${entries.length}`, ...(i === 0 && keyed) };
    const record = extractBlobs(said, keep);
    // The size limit applies to the original entry: with its large parts put back, every reader must accept it.
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

/** An id of eight characters, or of sixteen if a line of another tool has the short one. */
function ownId({ seq, q }: SessionState, isTaken: (id: string) => boolean): string {
  const short = entryIdForSeq(q);
  // If seq and q differ only by this line, the session has no lines of other tools.
  return seq === q - 1 || !isTaken(short) ? short : longEntryIdForSeq(q);
}

interface EntryLookup {
  readonly seqOf: (id: string) => number | undefined;
  readonly entryAt: (seq: number) => Entry | undefined;
}

/** A side entry is never the leaf: a move to one means a move to its parent. */
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

/** Whether entries move the leaf. Side entries alone never change what a running turn builds on. */
export function movesLeaf(entries: readonly NewEntry[]): boolean {
  return entries.some((entry) => {
    const { side, leafMove } = factsOf(entry);
    return !side || leafMove === true;
  });
}

/** The first 16 hex digits of the SHA-256 of the caller's entries. */
export function bodyHash(entries: readonly NewEntry[]): string {
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex').slice(0, 16);
}
