import type { Entry, SessionHeader } from '../../../transcript/entry.ts';
import type { FileStamp } from '../../shared/tail-cache.ts';
import type { SessionRow } from '../session-row.ts';

/** A stored line without its LF. */
export interface StoredLine {
  readonly seq: number;
  readonly bytes: Buffer;
  /** The record as stored; fields that another tool wrote in its own format stay in it. */
  readonly entry: Entry | SessionHeader;
}

export interface LineQuery {
  readonly from: number;
  readonly to: number;
  /** Which end to return if the range is too large for one page; the first lines by default. */
  readonly backward?: boolean;
  /** Called with raw bytes before they are parsed; false if no line in them can be of interest. */
  readonly wanted?: (bytes: Buffer) => boolean;
}

export interface LinePage {
  /** Committed lines in seq order. Torn lines and lines that do not match their seals are left out. */
  readonly lines: readonly StoredLine[];
  /** The range that was read: the whole query, or as much as one read should take. */
  readonly from: number;
  readonly to: number;
  /** Byte offset of the first damaged line. */
  readonly damagedAt?: number;
  /** Lines are missing although nothing is damaged: another program cut or removed the file. */
  readonly isShort?: true;
  /** Set if the file is the transcript of this other session; no line is returned then. */
  readonly otherSession?: string;
}

/**
 * Reads the lines of a session: from its transcript file, and from the journal for lines that the file does not have
 * yet.
 */
export interface LineSource {
  /** The current state of the transcript file; `undefined` if the store has no files. */
  stamp(row: SessionRow): FileStamp | undefined;
  lines(row: SessionRow, query: LineQuery): LinePage;
  /**
   * All bytes of a session as of the first step, in file order. Each step may use its own snapshot, so a long read
   * holds no snapshot open.
   */
  chunks(row: SessionRow): Generator<Buffer, void>;
}
