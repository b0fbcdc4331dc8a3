import { canonicalEntries } from '../../transcript/dialects/canonical.ts';
import { type Entry, isSideEntry } from '../../transcript/entry.ts';
import { entryIdForSeq } from '../../transcript/entry-id.ts';
import { IssueLog } from '../../transcript/issues.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { applyEntry, type SessionState } from './session-state.ts';

/** A line of another tool, converted to our format. */
export interface ForeignLine {
  /** The id under which the line is referenced from now on. */
  readonly id: string;
  readonly seq: number;
  readonly entries: readonly Entry[];
}

export function foreignLine(record: JsonObject, seq: number): ForeignLine | undefined {
  const { entries } = canonicalEntries([{ record, seal: undefined, line: 0, offset: 0 }], new IssueLog());
  const last = entries.at(-1);
  if (last === undefined) return undefined;
  // A line without an id is named by its position, as when the whole file is read.
  return { id: typeof record['id'] === 'string' ? last.id : entryIdForSeq(seq), seq, entries };
}

export function applyForeign(
  row: SessionState,
  { id, seq, entries }: ForeignLine,
  seqOf: (id: string) => number | undefined,
): void {
  const last = entries.at(-1);
  for (const entry of entries) {
    const { parentId, timestamp } = entry;
    applyEntry(row, entry, { id: entry === last ? id : entry.id, parentId, seq, timestamp, seqOf });
    // For other tools every line moves the leaf. For a side entry, our leaf is then the parent of that line.
    if (isSideEntry(entry) && parentId !== null && seqOf(parentId) !== undefined) row.leaf = parentId;
  }
}
