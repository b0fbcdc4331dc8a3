import type { StoredEntry } from '../port/store.ts';

/** Entries that several readers are given: nobody can change them for the others (I-25). */
export function freezeEntries(entries: readonly StoredEntry[]): void {
  for (const stored of entries) freeze(stored);
}

/** Values of a line that was parsed: no deeper than a line may be. */
function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
}
