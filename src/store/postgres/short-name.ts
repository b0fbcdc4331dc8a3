import { createHash } from 'node:crypto';

/** An entry of an index has at most 2704 bytes, and a name shares it with others. */
const MAX_BYTES = 1000;
const HASH = 'sha256:';

/**
 * What a name of any length stands for in an index: itself, or its hash. One that looks like a hash is hashed, too, so
 * that different names stay different.
 */
export function shortName(name: string): string {
  if (Buffer.byteLength(name) <= MAX_BYTES && !name.startsWith(HASH)) return name;
  return HASH + createHash('sha256').update(name).digest('hex');
}

/** The same in SQL, for session keys, none of which looks like a hash. */
export function shortNameOf(column: string): string {
  const hash = `encode(sha256(convert_to(${column}, 'UTF8')), 'hex')`;
  return `CASE WHEN octet_length(${column}) <= ${MAX_BYTES} THEN ${column} ELSE '${HASH}' || ${hash} END`;
}
