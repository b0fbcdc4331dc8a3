import { type Entry, entryTime, type SessionHeader } from '../../transcript/entry.ts';
import { encodeLine } from '../../transcript/line.ts';
import type { SessionDocument } from '../session-document.ts';

export interface V3Options {
  /** Keep the checksums of the lines, recalculated for lines whose blobs were inserted. */
  readonly seals?: boolean;
}

/** Plain v3, which pi and OpenClaw open: a header and one line per entry, including blobs. */
export function* v3Lines(
  { header, entries }: SessionDocument,
  { seals = false }: V3Options = {},
): Generator<string> {
  const write = seals ? sealedLine : plainLine;
  yield write(header);
  for (const entry of entries) yield write(entry);
}

/** Other tools know one time of a line. For a copy that is when the original was written. */
function plainLine({ seal: _, ...line }: Entry | SessionHeader): string {
  if (!('copiedAt' in line)) return `${JSON.stringify(line)}\n`;
  const { copiedAt, ...entry } = line;
  return `${JSON.stringify({ ...entry, timestamp: entryTime({ timestamp: entry.timestamp, copiedAt }) })}\n`;
}

/** A line of another tool has no seal and does not get one. */
function sealedLine(line: Entry | SessionHeader): string {
  const { seal } = line;
  if (seal === undefined) return plainLine(line);
  const { c: _, ...kept } = seal;
  return encodeLine({ ...line }, kept);
}
