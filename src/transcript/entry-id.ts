/**
 * Entry ids are a fixed bijection of the sequence number on 32 bits, so they are unique by construction,
 * equal on every store, and do not look like a counter people would be tempted to compute with.
 */
export function entryIdForSeq(seq: number): string {
  return hex(scramble(seq >>> 0));
}

/** For a seq whose short id a foreign line has taken: 16 characters, which no short id can equal. */
export function longEntryIdForSeq(seq: number): string {
  const low = scramble(seq >>> 0);
  return hex(low) + hex(scramble(~low >>> 0));
}

// Odd multiplications and xor-shifts are each invertible on 32 bits, hence so is their composition.
function scramble(n: number): number {
  let x = n;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

function hex(n: number): string {
  return n.toString(16).padStart(8, '0');
}
