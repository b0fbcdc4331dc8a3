import { createHash } from 'node:crypto';
import { lstat } from 'node:fs/promises';

/** For sources that have no times. */
export async function fileTime(path: string): Promise<string> {
  return new Date((await lstat(path)).mtimeMs).toISOString();
}

/** The id of a session whose source has none: the place is the same when the source has grown. */
export function namedByFile(tool: string, place: string): string {
  return `${tool}-${createHash('sha256').update(place).digest('hex').slice(0, 16)}`;
}

/** The JSON value of a column; undefined if it is not JSON, or too large. */
export function parsedRow(text: unknown): unknown {
  if (typeof text !== 'string') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
