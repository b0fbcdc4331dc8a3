/**
 * Entry ids are a fixed bijection of the sequence number on 32 bits. So they are unique by construction, equal on
 * every store, and do not look like a counter that users might compute with.
 */
export function entryIdForSeq(seq: number): string {
  return hex(scramble(seq >>> 0));
}

/** The inverse, for ids of the short form. @returns `undefined` for any other string. */
export function seqForEntryId(id: string): number | undefined {
  return /^[0-9a-f]{8}$/.test(id) ? unscramble(Number.parseInt(id, 16)) : undefined;
}

/** For a seq whose short id a line of another tool has taken: 16 characters, so it cannot equal a short id. */
export function longEntryIdForSeq(seq: number): string {
  const low = scramble(seq >>> 0);
  return hex(low) + hex(scramble(~low >>> 0));
}

// Odd multiplications and xor-shifts are each invertible on 32 bits, and so is their composition.
function scramble(n: number): number {
  let x = n;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

/** The inverse steps; the factors are the inverses of those above modulo 2^32. */
function unscramble(n: number): number {
  let x = n;
  x = Math.imul(x ^ (x >>> 16), 0x43021123);
  x = Math.imul(x ^ (x >>> 15) ^ (x >>> 30), 0x1d69e2a5);
  return (x ^ (x >>> 16)) >>> 0;
}

function hex(n: number): string {
  return n.toString(16).padStart(8, '0');
}
