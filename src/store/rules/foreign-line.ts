import { canonicalEntries } from '../../transcript/dialects/canonical.ts';
import { type Entry, isSideEntry } from '../../transcript/entry.ts';
import { entryIdForSeq } from '../../transcript/entry-id.ts';
import { IssueLog } from '../../transcript/issues.ts';
import type { JsonObject } from '../../transcript/json.ts';
import { applyEntry, type SessionState } from './session-state.ts';

/** A line of another tool, in our dialect. */
export interface ForeignLine {
  /** By which it is named from now on. */
  readonly id: string;
  readonly seq: number;
  readonly entries: readonly Entry[];
}

export function foreignLine(record: JsonObject, seq: number): ForeignLine | undefined {
  const { entries } = canonicalEntries([{ record, seal: undefined, line: 0, offset: 0 }], new IssueLog());
  const last = entries.at(-1);
  if (last === undefined) return undefined;
  // Without an id of its own a line is called by its place, as when the whole file is read.
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
    // Another tool moves its leaf with any line; ours is then where that line hangs.
    if (isSideEntry(entry) && parentId !== null && seqOf(parentId) !== undefined) row.leaf = parentId;
  }
}
