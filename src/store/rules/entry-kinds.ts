import type { Entry, SessionHeader } from '../../transcript/entry.ts';

/** Whether an entry is of one of these types or custom types. */
export function isOf(entry: Entry | SessionHeader, kinds: readonly string[]): boolean {
  const { type, customType } = entry as Entry;
  return kinds.includes(type) || (typeof customType === 'string' && kinds.includes(customType));
}

/**
 * Tests raw bytes for entries of these kinds. False is certain, so such bytes need not be parsed. Quotation marks
 * inside a message's text are escaped, so a message cannot look like an entry of another kind.
 */
export function mayBeOf(kinds: readonly string[]): (bytes: Buffer) => boolean {
  const names = kinds.map((kind) => Buffer.from(JSON.stringify(kind)));
  return (bytes) => names.some((name) => bytes.includes(name));
}
