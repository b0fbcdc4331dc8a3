import type { Entry, SessionHeader } from '../../../transcript/entry.ts';
import type { FileStamp } from '../../shared/tail-cache.ts';
import type { SessionRow } from '../session-row.ts';

/** A stored line without its LF. */
export interface StoredLine {
  readonly seq: number;
  readonly bytes: Buffer;
  /** As it stands there: what another tool says in its own dialect stays in it. */
  readonly entry: Entry | SessionHeader;
}

export interface LineQuery {
  readonly from: number;
  readonly to: number;
  /** Which end is answered when not all of it is; by default the first lines. */
  readonly backward?: boolean;
  /** Asked for bytes before they are looked into: false where no line among them can be of interest. */
  readonly wanted?: (bytes: Buffer) => boolean;
}

export interface LinePage {
  /** In seq order. Only committed lines, never a torn one; those that are not what was sealed are left out. */
  readonly lines: readonly StoredLine[];
  /** What was looked at: all that was asked for, or as much of it as one look should take. */
  readonly from: number;
  readonly to: number;
  /** Where the first line stands that is missing for being damaged. */
  readonly damagedAt?: number;
  /** Fewer than there should be, and nothing damaged that could be them: somebody cut or removed the file. */
  readonly isShort?: true;
  /** The file is the transcript of this session instead; none of its lines are given. */
  readonly otherSession?: string;
}

/** Where the lines of a session can be read: its file as far as that follows, and the journal behind it. */
export interface LineSource {
  /** What the transcript is like now; undefined where there is none. */
  stamp(row: SessionRow): FileStamp | undefined;
  lines(row: SessionRow, query: LineQuery): LinePage;
  /**
   * All bytes of a session as it is at the first step, in file order. Each step may run in a snapshot of its own:
   * nobody has to hold one for as long as it takes to read everything.
   */
  chunks(row: SessionRow): Generator<Buffer, void>;
}
