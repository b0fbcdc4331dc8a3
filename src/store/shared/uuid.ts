import { randomFillSync } from 'node:crypto';

const SIZE = 16;
/** Random bytes for many: asking the system costs about the same for one as for all of them. */
const pool: Buffer = Buffer.alloc(64 * SIZE);
let used = pool.length;

/** Version 7: sorts by the time it was made, so that recent sessions are near each other in every index. */
export function uuidv7(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = pool.subarray(used, used + SIZE);
  used += SIZE;
  // The format has no times before 1970, which a machine without a battery may start with.
  bytes.writeUIntBE(Math.max(0, Date.now()), 0, 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
