/** The known word somebody most likely meant: one it is the beginning of, else the fewest slips away. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const begun = known.filter((name) => word.length >= 2 && name.startsWith(word));
  if (begun.length > 0) return begun[0];
  let best: { readonly name: string; readonly slips: number } | undefined;
  for (const name of known) {
    const slips = slipsBetween(word, name);
    // In a short word two slips are another word.
    if (slips > (Math.min(name.length, word.length) > 3 ? 2 : 1)) continue;
    if (best === undefined || slips < best.slips) best = { name, slips };
  }
  return best?.name;
}

const MAX_LENGTH = 32;

/** Letters left out, added, changed, or swapped with their neighbour. Longer words are no slips of ours. */
function slipsBetween(a: string, b: string): number {
  if (a.length > MAX_LENGTH || b.length > MAX_LENGTH) return Number.POSITIVE_INFINITY;
  let twoAbove: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const line = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = swapped ? (twoAbove[j - 2] ?? 0) + 1 : change;
      line.push(Math.min(change, swap, (above[j] ?? 0) + 1, (line[j - 1] ?? 0) + 1));
    }
    twoAbove = above;
    above = line;
  }
  return above[b.length] ?? 0;
}
