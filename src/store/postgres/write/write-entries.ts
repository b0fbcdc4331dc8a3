import { blobHash, blobNames } from '../../../transcript/blobs.ts';
import { type Entry, isSideEntry } from '../../../transcript/entry.ts';
import { entryIdForSeq, seqForEntryId } from '../../../transcript/entry-id.ts';
import type { JsonObject } from '../../../transcript/json.ts';
import type { encodeLine } from '../../../transcript/line.ts';
import type { AppendReceipt, NewEntry } from '../../port/store.ts';
import { factsOf } from '../../rules/facts.ts';
import { sealEntries } from '../../rules/seal-entries.ts';
import type { Tx } from '../connection/tx.ts';
import type { SessionRow } from '../rows.ts';
import { shortName } from '../short-name.ts';
import { rememberSourceIds } from '../sources.ts';

export interface WriteOptions {
  readonly k?: string;
  readonly h?: string;
  readonly encode?: typeof encodeLine;
}

/**
 * Seals and numbers entries of a session whose row this transaction has locked. The numbers have no gaps (I-3),
 * because they are taken under that lock.
 */
export async function writeEntries(
  tx: Tx,
  row: SessionRow,
  entries: readonly NewEntry[],
  options: WriteOptions = {},
): Promise<AppendReceipt> {
  const draft = { ...row };
  const known = await lookAround(tx, row, entries);
  const { lines, ids, blobs } = sealEntries(draft, entries, {
    ...options,
    now: tx.now,
    seqOf: (id) => known.seqs.get(id) ?? ownSeq(row, draft, id),
    entryAt: (seq) => known.entries.get(seq),
    hasBlob: (hash) => known.blobs.has(hash),
    isTaken: (id) => known.seqs.has(id),
  });
  const firstSeq = row.seq + 1;
  for (const line of lines) draft.bytes += Buffer.byteLength(line);
  for (const [hash, bytes] of blobs) {
    tx.run('INSERT INTO reprise.blobs (session_id, hash, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [
      row.id,
      hash,
      bytes,
    ]);
  }
  // Everything that can be refused has been checked.
  Object.assign(row, draft);
  tx.addLines(
    row,
    lines.map((line, i) => ({
      session_id: row.id,
      seq: firstSeq + i,
      entry_id: ids[i] ?? null,
      line: line.slice(0, -1),
    })),
  );
  rememberSourceIds(tx, row, entries as readonly JsonObject[], firstSeq);
  return { firstSeq, lastSeq: row.seq };
}

interface Surroundings {
  /**
   * Seqs of referenced entries that were looked up; if other tools added lines, they cannot be computed from the id.
   */
  readonly seqs: ReadonlyMap<string, number>;
  readonly entries: ReadonlyMap<number, Entry>;
  readonly blobs: ReadonlySet<string>;
}

const NOTHING: Surroundings = { seqs: new Map(), entries: new Map(), blobs: new Set() };

/** Loads what the entries reference. Most entries reference nothing and need no query. */
async function lookAround(tx: Tx, row: SessionRow, entries: readonly NewEntry[]): Promise<Surroundings> {
  const hashes = [...blobNames(entries as readonly JsonObject[])].map(blobHash);
  const named = entries.flatMap(namedBy);
  // With lines of other tools, one of our new ids may already be taken.
  const ours = row.seq === row.q ? [] : entries.map((_, i) => entryIdForSeq(row.q + 1 + i));
  if (hashes.length === 0 && named.length === 0 && ours.length === 0) return NOTHING;
  tx.flush();
  const blobs = await storedBlobs(tx, row, hashes);
  const seqs = new Map<string, number>();
  const found = new Map<number, Entry>();
  for (let ids = [...named, ...ours]; ids.length > 0; ) {
    const byName = new Map(ids.map((id) => [shortName(id), id]));
    const lines = await tx.query<{ seq: number; entry_id: string; line: string }>(
      'SELECT seq, entry_id, line FROM reprise.lines WHERE session_id = $1 AND entry_id = ANY($2)',
      [row.id, [...byName.keys()]],
    );
    ids = [];
    for (const { seq, entry_id, line } of lines) {
      const entry = JSON.parse(line) as Entry;
      seqs.set(byName.get(entry_id) ?? entry_id, seq);
      found.set(seq, entry);
      // A move to a side entry means a move to that entry's parent.
      const { parentId } = entry;
      if (isSideEntry(entry) && typeof parentId === 'string' && !seqs.has(parentId)) ids.push(parentId);
    }
  }
  return { seqs, entries: found, blobs };
}

/** Ids of other entries that this one references. */
function namedBy(entry: NewEntry): string[] {
  const { leafMove, firstKept } = factsOf(entry);
  const { parentId } = entry;
  if (leafMove === true) return typeof parentId === 'string' ? [parentId] : [];
  return firstKept === undefined ? [] : [firstKept];
}

async function storedBlobs(tx: Tx, { id }: SessionRow, hashes: readonly string[]): Promise<Set<string>> {
  if (hashes.length === 0) return new Set();
  const rows = await tx.query<{ hash: string }>(
    'SELECT hash FROM reprise.blobs WHERE session_id = $1 AND hash = ANY($2)',
    [id, hashes],
  );
  return new Set(rows.map(({ hash }) => hash));
}

/** Our own ids encode their line number. After lines of other tools, that works only for lines of this append. */
function ownSeq(before: SessionRow, { q: last }: SessionRow, id: string): number | undefined {
  const q = seqForEntryId(id);
  if (q === undefined || q < 2 || q > last) return undefined;
  return q > before.q || before.seq === before.q ? q + (before.seq - before.q) : undefined;
}
