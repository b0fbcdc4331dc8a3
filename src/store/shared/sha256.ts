import { createHash } from 'node:crypto';

/** In hex: the name a blob goes by. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
