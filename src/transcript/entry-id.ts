/**
 * Entry ids are a fixed bijection of the sequence number on 32 bits, so they are unique by construction,
 * equal on every store, and do not look like a counter people would be tempted to compute with.
 */
export function entryIdForSeq(seq: number): string {
  return hex(scramble(seq >>> 0));
}

/** The other way round, for ids of the short form; undefined for any other string. */
export function seqForEntryId(id: string): number | undefined {
  return /^[0-9a-f]{8}$/.test(id) ? unscramble(Number.parseInt(id, 16)) : undefined;
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

/** Step by step backwards; the factors are the inverses of those above modulo 2^32. */
function unscramble(n: number): number {
  let x = n;
  x = Math.imul(x ^ (x >>> 16), 0x43021123);
  x = Math.imul(x ^ (x >>> 15) ^ (x >>> 30), 0x1d69e2a5);
  return (x ^ (x >>> 16)) >>> 0;
}

function hex(n: number): string {
  return n.toString(16).padStart(8, '0');
}
