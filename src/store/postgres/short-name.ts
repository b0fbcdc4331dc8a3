import { createHash } from 'node:crypto';

/** An index row has at most 2,704 bytes, and the name shares it with other columns. */
const MAX_BYTES = 1000;
const HASH = 'sha256:';

/**
 * The form of a name in an index: the name itself, or its hash if it is long. A name that looks like a hash is hashed
 * too, so that different names stay different.
 */
export function shortName(name: string): string {
  if (Buffer.byteLength(name) <= MAX_BYTES && !name.startsWith(HASH)) return name;
  return HASH + createHash('sha256').update(name).digest('hex');
}

/** The same in SQL, for session keys, which never look like a hash. */
export function shortNameOf(column: string): string {
  const hash = `encode(sha256(convert_to(${column}, 'UTF8')), 'hex')`;
  return `CASE WHEN octet_length(${column}) <= ${MAX_BYTES} THEN ${column} ELSE '${HASH}' || ${hash} END`;
}
