/** Seeded random choices: the same seed gives the same sizes, victims and moments. */
export interface Random {
  /** From 0 (included) to 1 (excluded). */
  next(): number;
  /** Both ends are included. */
  integer(min: number, max: number): number;
  /** Small values are as likely as large ones: each power of ten has the same share. */
  skewed(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly [T, ...T[]]): T;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  // mulberry32: 32 bits of state are enough for this purpose, and it needs no dependency.
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    next,
    integer,
    skewed: (min, max) => Math.round(min * (max / min) ** next()),
    chance: (probability) => next() < probability,
    pick: (items) => items[integer(0, items.length - 1)] ?? items[0],
  };
}
