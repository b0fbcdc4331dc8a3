/**
 * The known name that the caller probably meant. @returns `undefined` if none is close, because a wrong guess is
 * worse than no guess.
 */
export function closestName<N extends string>(name: string, known: Iterable<N>): N | undefined {
  const wanted = name.toLowerCase().slice(0, MAX_LENGTH);
  const names = [...known];
  // The start of a name means that name, however much is missing.
  for (const candidate of names)
    if (wanted.length >= 2 && candidate.toLowerCase().startsWith(wanted)) return candidate;
  let best: N | undefined;
  // A third of the letters may differ; with more, unrelated names match.
  let distance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of names) {
    const found = editDistance(wanted, candidate.toLowerCase());
    if (found >= distance) continue;
    best = candidate;
    distance = found;
  }
  return best;
}

/** Names come from outside, and the cost grows with their length. */
const MAX_LENGTH = 64;

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  let before: number[] = [];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (before[j - 2] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? 0;
}
