import { randomFillSync } from 'node:crypto';

const SIZE = 16;
/** A pool of random bytes: one system call for the whole pool costs about as much as one for a single id. */
const pool: Buffer = Buffer.alloc(64 * SIZE);
let used = pool.length;

/** Creates a UUID version 7. It sorts by creation time, so recent sessions are close together in every index. */
export function uuidv7(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = pool.subarray(used, used + SIZE);
  used += SIZE;
  // The format has no times before 1970; a machine without a clock battery may start with one.
  bytes.writeUIntBE(Math.max(0, Date.now()), 0, 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
