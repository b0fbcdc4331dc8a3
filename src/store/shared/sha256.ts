import { createHash } from 'node:crypto';

/** Hex SHA-256 of the bytes; also the name of a blob. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
