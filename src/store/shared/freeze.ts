import type { StoredEntry } from '../port/store.ts';

/** Freezes entries that several readers share, so that no reader can change them for the others (I-25). */
export function freezeEntries(entries: readonly StoredEntry[]): void {
  for (const stored of entries) freeze(stored);
}

/** Freezes values parsed from a line. The recursion is limited by the maximum depth of a stored line. */
function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
}
