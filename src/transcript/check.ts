import { canonicalEntries, isCanonicalEntry } from './dialects/canonical.ts';
import type { PlacedRecord } from './history-rule.ts';
import { IssueLog } from './issues.ts';
import { createRecordReader, type ReaderOptions } from './records.ts';

export interface TranscriptCheck {
  /** How many entries are history, the header not counted. */
  readonly entries: number;
  readonly sealed: boolean;
  readonly issues: IssueLog;
}

export interface TranscriptChecker {
  push(chunk: Uint8Array): void;
  finish(): TranscriptCheck;
}

/** Reads every byte as a reader does and believes none of them, but keeps nothing: memory is flat at any length. */
export function createTranscriptChecker(options: ReaderOptions = {}): TranscriptChecker {
  const issues = new IssueLog();
  let entries = 0;
  const count = (placed: PlacedRecord): void => {
    const { record } = placed;
    if (record['type'] === 'session') return;
    entries += isCanonicalEntry(record) ? 1 : canonicalEntries([placed], issues).entries.length;
  };
  const reader = createRecordReader(count, issues, options);
  return {
    push: reader.push,
    finish() {
      const { sealed } = reader.finish();
      return { entries, sealed, issues };
    },
  };
}
