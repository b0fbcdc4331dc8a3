import type { Entry } from '../entry.ts';
import type { PlacedRecord } from '../history-rule.ts';
import type { IssueLog } from '../issues.ts';
import type { JsonObject } from '../json.ts';
import { type CanonicalHistory, canonicalEntries, type Dialect, isCanonicalEntry } from './canonical.ts';

export interface EntryCollector {
  add(placed: PlacedRecord): void;
  finish(): CanonicalHistory;
}

/**
 * Collects the records of a file. While all of them are canonical, they are the entries, and nothing else is created.
 * From the first record of another format on, `canonicalEntries` needs all of them with their positions.
 */
export function createEntryCollector(issues: IssueLog): EntryCollector {
  const entries: Entry[] = [];
  /** Headers, and the number of entries before each. */
  const headers: { readonly record: JsonObject; readonly before: number }[] = [];
  const compactions: Entry[] = [];
  let placedRecords: PlacedRecord[] | undefined;
  let version: unknown;
  let ofVersion2 = 0;

  /** Canonical records are never reported, so their positions may be forgotten. */
  const withPlaces = (): PlacedRecord[] => {
    const records: JsonObject[] = [];
    let next = 0;
    for (const { record, before } of headers) {
      while (next < before) records.push(entries[next++] as Entry);
      records.push(record);
    }
    while (next < entries.length) records.push(entries[next++] as Entry);
    return records.map((record) => ({ record, seal: undefined, line: 0, offset: 0 }));
  };

  return {
    add(placed) {
      const { record } = placed;
      if (placedRecords !== undefined) placedRecords.push(placed);
      else if (record['type'] === 'session') {
        version ??= record['version'];
        headers.push({ record, before: entries.length });
      } else if (isCanonicalEntry(record)) {
        if (record.type === 'compaction') compactions.push(record);
        if (version === 2) ofVersion2++;
        entries.push(record);
      } else {
        placedRecords = withPlaces();
        placedRecords.push(placed);
      }
    },
    finish() {
      if (placedRecords !== undefined || !keepKnownEntries(compactions, entries))
        return canonicalEntries(placedRecords ?? withPlaces(), issues);
      const dialects = new Map<Dialect, number>();
      const v3 = entries.length - ofVersion2;
      if (v3 > 0) dialects.set('v3', v3);
      if (ofVersion2 > 0) dialects.set('pi-v2', ofVersion2);
      return { entries, dialects };
    },
  };
}

/** Whether every compaction names what it keeps by an entry id; other tools count lines or messages. */
function keepKnownEntries(compactions: readonly Entry[], entries: readonly Entry[]): boolean {
  if (compactions.length === 0) return true;
  const ids = new Set<unknown>(entries.map(({ id }) => id));
  return compactions.every(
    ({ firstKeptEntryIndex, firstKeptEntryId }) =>
      typeof firstKeptEntryIndex !== 'number' && ids.has(firstKeptEntryId),
  );
}
