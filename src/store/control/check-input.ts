import { RepriseError } from '../../errors.ts';
import { assertStorable, isObject, type JsonObject } from '../../transcript/json.ts';
import type { NewEntry } from '../store.ts';

/** On this side of the thread, because a structured clone would already have changed what cannot be stored. */
export function checkEntries(entries: readonly NewEntry[]): void {
  for (const entry of entries as readonly unknown[]) {
    checkObject(entry, 'an entry');
    const { type, id } = entry;
    if (typeof type !== 'string' || type === '' || type === 'session') {
      throw new RepriseError('INVALID_INPUT', 'an entry has a type, and only the store writes headers');
    }
    if (id !== undefined) throw new RepriseError('INVALID_INPUT', 'ids of entries are given by the store');
  }
}

export function checkObject(value: unknown, what: string): asserts value is JsonObject {
  if (!isObject(value)) throw new RepriseError('INVALID_INPUT', `${what} is an object`);
  assertStorable(value);
}
