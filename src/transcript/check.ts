import { canonicalEntries, isCanonicalEntry } from './dialects/canonical.ts';
import type { Entry } from './entry.ts';
import type { PlacedRecord } from './history-rule.ts';
import { IssueLog } from './issues.ts';
import { createRecordReader, type ReaderOptions } from './records.ts';

export interface TranscriptCheck {
  /** Number of entries in the history, without the header. */
  readonly entries: number;
  readonly sealed: boolean;
  /** The id in the header; unset if none was read. */
  readonly headerId?: string;
  /** Whether any line was a record of a known format. */
  readonly recognised: boolean;
  readonly issues: IssueLog;
}

export interface TranscriptChecker {
  push(chunk: Uint8Array): void;
  finish(): TranscriptCheck;
}

/**
 * Reads every byte like a reader, but trusts and stores nothing: memory use does not depend on the length. Calls
 * `see` once for each entry.
 */
export function createTranscriptChecker(
  options: ReaderOptions = {},
  see: (entry: Entry) => void = () => undefined,
): TranscriptChecker {
  const issues = new IssueLog();
  let entries = 0;
  let headerId: string | undefined;
  const count = (placed: PlacedRecord): void => {
    const { record } = placed;
    if (record['type'] === 'session') {
      if (typeof record['id'] === 'string') headerId ??= record['id'];
      return;
    }
    const found = isCanonicalEntry(record) ? [record] : canonicalEntries([placed], issues).entries;
    entries += found.length;
    for (const entry of found) see(entry);
  };
  const reader = createRecordReader(count, issues, options);
  return {
    push: reader.push,
    finish() {
      const { sealed, recognised } = reader.finish();
      return { entries, sealed, recognised, issues, ...(headerId !== undefined && { headerId }) };
    },
  };
}
