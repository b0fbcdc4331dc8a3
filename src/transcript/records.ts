import { isKnownRecord } from './dialects/canonical.ts';
import type { SessionHeader } from './entry.ts';
import { createHistoryRule, type HistoryRule, type PlacedRecord } from './history-rule.ts';
import type { IssueLog } from './issues.ts';
import { DEFAULT_RECORD_LIMITS, type RecordLimits } from './limits.ts';
import { decodeLine } from './line.ts';
import { createLineSplitter, type RawLine } from './split-lines.ts';

export interface ReaderOptions {
  readonly limits?: RecordLimits;
  /** Seals count only in a file whose header has this id; unset: the header's own id is trusted. */
  readonly sessionId?: string;
}

export interface RecordReader {
  push(chunk: Uint8Array): void;
  finish(): RecordSummary;
}

export interface RecordSummary {
  readonly header: SessionHeader | undefined;
  /** True if the header has our seal, so that seals count. */
  readonly sealed: boolean;
  readonly lines: number;
  /** Whether any line was a record of a known format. */
  readonly recognised: boolean;
}

const CURRENT_VERSION = 3;

/** Whether a header names a format version that this version of Reprise does not know. */
export function isNewerVersion({ version }: { readonly version?: unknown }): boolean {
  return typeof version === 'number' && version > CURRENT_VERSION;
}

/**
 * Converts bytes to records: splits, decodes, and in a file of Reprise decides what is history. Holds only the open
 * append in memory.
 */
export function createRecordReader(
  take: (placed: PlacedRecord) => void,
  issues: IssueLog,
  { limits = DEFAULT_RECORD_LIMITS, sessionId }: ReaderOptions = {},
): RecordReader {
  let rule: HistoryRule | undefined;
  let header: SessionHeader | undefined;
  let lines = 0;
  let records = 0;
  let recognised = false;

  const startsOurs = ({ record, seal }: PlacedRecord): boolean =>
    records === 0 &&
    rule === undefined &&
    seal !== undefined &&
    seal !== 'broken' &&
    record['type'] === 'session' &&
    typeof record['id'] === 'string' &&
    (sessionId === undefined || record['id'] === sessionId);

  const accept = (placed: PlacedRecord): void => {
    records++;
    recognised ||= isKnownRecord(placed.record);
    if (placed.record['type'] === 'session') acceptHeader(placed);
    take(placed);
  };
  const acceptHeader = ({ record, line, offset }: PlacedRecord): void => {
    if (header !== undefined) {
      issues.add({ kind: 'extra-header', line, offset, detail: 'a second header' });
      return;
    }
    header = record as unknown as SessionHeader;
    if (isNewerVersion(record)) {
      const detail = `format version ${String(record['version'])}; this version of Reprise knows ${CURRENT_VERSION}`;
      issues.add({ kind: 'newer-version', line, offset, detail });
    }
  };

  const onLine = ({ offset, bytes, length }: RawLine): void => {
    const line = ++lines;
    const decoded =
      length > limits.maxRecordBytes
        ? ({ kind: 'bad', reason: 'too-long' } as const)
        : decodeLine(bytes, limits);
    if (decoded.kind === 'blank') return;
    if (decoded.kind === 'bad') {
      issues.add({ kind: decoded.reason, line, offset, detail: `${length} bytes skipped` });
      rule?.addBad({ line, offset });
      return;
    }
    const { record, seal, badUtf8, inexact } = decoded;
    if (badUtf8) issues.add({ kind: 'bad-utf8', line, offset, detail: 'shown with replacement characters' });
    if (inexact) issues.add({ kind: 'inexact-number', line, offset, detail: 'the file keeps the digits' });
    const placed: PlacedRecord = { record, seal, line, offset };
    if (startsOurs(placed)) rule = createHistoryRule(accept, (issue) => issues.add(issue));
    if (rule === undefined) accept(placed);
    else rule.add(placed);
  };

  const splitter = createLineSplitter(limits.maxRecordBytes, onLine);
  return {
    push: splitter.push,
    finish() {
      splitter.end();
      rule?.finish();
      return { header, sealed: rule !== undefined, lines, recognised };
    },
  };
}
