import type { Entry, SessionHeader } from '../../transcript/entry.ts';

/** Whether an entry is of one of these types or custom types. */
export function isOf(entry: Entry | SessionHeader, kinds: readonly string[]): boolean {
  const { type, customType } = entry as Entry;
  return kinds.includes(type) || (typeof customType === 'string' && kinds.includes(customType));
}

/**
 * A no is certain: such bytes need not be parsed. In a text that somebody said quotation marks are escaped, so nobody
 * can talk about a kind in a way that looks like one.
 */
export function mayBeOf(kinds: readonly string[]): (bytes: Buffer) => boolean {
  const names = kinds.map((kind) => Buffer.from(JSON.stringify(kind)));
  return (bytes) => names.some((name) => bytes.includes(name));
}
