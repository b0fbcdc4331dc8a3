import type { RepriseError } from '../errors.ts';
import { failure } from '../messages/failure.ts';
import type { Dialect } from './dialects/canonical.ts';
import { createEntryCollector } from './dialects/collect.ts';
import type { Entry, SessionHeader } from './entry.ts';
import { IssueLog } from './issues.ts';
import { createRecordReader, type ReaderOptions } from './records.ts';

export interface Transcript {
  readonly header: SessionHeader | undefined;
  /** Canonical entries, in file order except where a format wrote them out of order. */
  readonly entries: readonly Entry[];
  /** Number of lines per format. */
  readonly dialects: ReadonlyMap<Dialect, number>;
  /** True if the header has our seal, so that seals count. */
  readonly sealed: boolean;
  /** Byte offset of the first damage that is not a torn tail; such a session is read-only. */
  readonly corruptAt: number | undefined;
  readonly issues: IssueLog;
}

export interface TranscriptReader {
  push(chunk: Uint8Array): void;
  finish(): Transcript;
}

/** Reads any format from a stream of bytes. Never rewrites the file and never needs it as one string. */
export function createTranscriptReader(options: ReaderOptions = {}): TranscriptReader {
  const issues = new IssueLog();
  const collector = createEntryCollector(issues);
  const reader = createRecordReader(collector.add, issues, options);
  return {
    push: reader.push,
    finish() {
      const { header, sealed, lines, recognised } = reader.finish();
      if (!recognised) throw notASession(lines, issues);
      const { entries, dialects } = collector.finish();
      const corruptAt = issues.examples.find(({ kind }) => kind === 'corrupt')?.offset;
      return { header, entries, dialects, sealed, corruptAt, issues };
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

/** For content in memory; files are read as streams. */
export function parseTranscript(content: string | Uint8Array, options: ReaderOptions = {}): Transcript {
  const reader = createTranscriptReader(options);
  reader.push(typeof content === 'string' ? Buffer.from(content) : content);
  return reader.finish();
}

function notASession(lines: number, issues: IssueLog): RepriseError {
  const details = { lines, issues: Object.fromEntries(issues.counts) };
  return lines === 0
    ? failure('INVALID_INPUT', 'file.empty', {}, { details })
    : failure('INVALID_INPUT', 'file.notSession', { lines }, { details });
}
