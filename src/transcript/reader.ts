import { RepriseError } from '../errors.ts';
import { canonicalEntries, type Dialect, isKnownRecord } from './dialects/canonical.ts';
import type { Entry, SessionHeader } from './entry.ts';
import { createHistoryRule, type HistoryRule, type PlacedRecord } from './history-rule.ts';
import { IssueLog } from './issues.ts';
import { DEFAULT_RECORD_LIMITS, type RecordLimits } from './limits.ts';
import { decodeLine } from './line.ts';
import { createLineSplitter, type RawLine } from './split-lines.ts';

export interface Transcript {
  readonly header: SessionHeader | undefined;
  /** Canonical entries, in file order but for what a dialect wrote out of order. */
  readonly entries: readonly Entry[];
  /** Lines per dialect. */
  readonly dialects: ReadonlyMap<Dialect, number>;
  /** True where the header carries our seal, so that seals count. */
  readonly sealed: boolean;
  /** Byte offset of the first damage that is not a torn tail; such a session is read-only. */
  readonly corruptAt: number | undefined;
  readonly issues: IssueLog;
}

export interface ReaderOptions {
  readonly limits?: RecordLimits;
  /** Seals count only in a file whose header has this id; unset, the header's own id is believed. */
  readonly sessionId?: string;
}

export interface TranscriptReader {
  push(chunk: Uint8Array): void;
  finish(): Transcript;
}

const CURRENT_VERSION = 3;

/** Reads any dialect from a stream of bytes. Never rewrites, never needs the file as one string. */
export function createTranscriptReader({
  limits = DEFAULT_RECORD_LIMITS,
  sessionId,
}: ReaderOptions = {}): TranscriptReader {
  const issues = new IssueLog();
  const records: PlacedRecord[] = [];
  let rule: HistoryRule | undefined;
  let header: SessionHeader | undefined;
  let lineNumber = 0;
  let recognised = false;

  const isOurs = (placed: PlacedRecord): boolean =>
    placed.seal !== undefined &&
    placed.seal !== 'broken' &&
    typeof placed.record['id'] === 'string' &&
    (sessionId === undefined || placed.record['id'] === sessionId);

  const take = (placed: PlacedRecord): void => {
    const { record } = placed;
    recognised ||= isKnownRecord(record);
    records.push(placed);
    if (record['type'] !== 'session') return;
    if (header !== undefined) {
      issues.add({
        kind: 'extra-header',
        line: placed.line,
        offset: placed.offset,
        detail: 'a second header',
      });
      return;
    }
    header = record as unknown as SessionHeader;
    const { version } = record;
    if (typeof version === 'number' && version > CURRENT_VERSION) {
      const detail = `format version ${version}; this is ${CURRENT_VERSION}`;
      issues.add({ kind: 'newer-version', line: placed.line, offset: placed.offset, detail });
    }
  };

  const onLine = ({ offset, bytes, length }: RawLine): void => {
    const place = { line: ++lineNumber, offset };
    const decoded =
      length > limits.maxRecordBytes
        ? ({ kind: 'bad', reason: 'too-long' } as const)
        : decodeLine(bytes, limits);
    if (decoded.kind === 'blank') return;
    if (decoded.kind === 'bad') {
      issues.add({ kind: decoded.reason, ...place, detail: `${length} bytes skipped` });
      rule?.addBad(place);
      return;
    }
    if (decoded.badUtf8)
      issues.add({ kind: 'bad-utf8', ...place, detail: 'shown with replacement characters' });
    if (decoded.inexact)
      issues.add({ kind: 'inexact-number', ...place, detail: 'the file keeps the digits' });
    const placed: PlacedRecord = { record: decoded.record, seal: decoded.seal, line: lineNumber, offset };
    if (
      records.length === 0 &&
      rule === undefined &&
      isOurs(placed) &&
      decoded.record['type'] === 'session'
    ) {
      rule = createHistoryRule(take, (issue) => issues.add(issue));
    }
    if (rule === undefined) take(placed);
    else rule.add(placed);
  };

  const splitter = createLineSplitter(limits.maxRecordBytes, onLine);
  return {
    push: splitter.push,
    finish() {
      splitter.end();
      rule?.finish();
      if (!recognised) throw notASession(lineNumber, issues);
      const { entries, dialects } = canonicalEntries(records, issues);
      return {
        header,
        entries,
        dialects,
        sealed: rule !== undefined,
        corruptAt: issues.examples.find(({ kind }) => kind === 'corrupt')?.offset,
        issues,
      };
    },
  };
}

export async function readTranscript(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: ReaderOptions = {},
): Promise<Transcript> {
  const reader = createTranscriptReader(options);
  for await (const chunk of chunks) reader.push(chunk);
  return reader.finish();
}

/** For what is in memory already; files are read as streams. */
export function parseTranscript(content: string | Uint8Array, options: ReaderOptions = {}): Transcript {
  const reader = createTranscriptReader(options);
  reader.push(typeof content === 'string' ? Buffer.from(content) : content);
  return reader.finish();
}

function notASession(lines: number, issues: IssueLog): RepriseError {
  const why = lines === 0 ? 'it is empty' : `none of its ${lines} lines is a record of a known dialect`;
  return new RepriseError('INVALID_INPUT', `not a session file: ${why}`, {
    details: { lines, issues: Object.fromEntries(issues.counts) },
  });
}
