/** Positions of rows with known or estimated heights. */
export interface Layout {
  /** `offsets[i]` is the top of row i; the last value is the total height. */
  readonly offsets: Float64Array;
}

export function layOut(count: number, heightAt: (index: number) => number): Layout {
  const offsets = new Float64Array(count + 1);
  for (let i = 0; i < count; i++) offsets[i + 1] = (offsets[i] ?? 0) + heightAt(i);
  return { offsets };
}

/** The first row, and the index after the last row, that touch a range, with a margin around it. */
export function rangeIn(
  { offsets }: Layout,
  top: number,
  height: number,
  overscan: number,
): { readonly start: number; readonly end: number } {
  const count = offsets.length - 1;
  const start = Math.min(count, rowAt({ offsets }, top - overscan));
  const end = Math.min(count, rowAt({ offsets }, top + height + overscan) + 1);
  return { start, end };
}

/** The row at a position; the nearest one outside of both ends. */
export function rowAt({ offsets }: Layout, place: number): number {
  let low = 0;
  let high = offsets.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if ((offsets[middle] ?? 0) <= place) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
}
