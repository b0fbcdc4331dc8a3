import type { NewEntry } from '../../store/port/store.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';

/** What the settings of a session say that began with the history of another. */
export interface ForkMark {
  /** The session whose history it begins with, and the last entry of that; null: nothing was said there. */
  readonly from: string;
  readonly leaf: string | null;
  readonly state: 'copying' | 'done' | 'too-long';
}

export function markEntry(mark: ForkMark): NewEntry {
  return { type: 'custom', customType: 'reprise.settings', data: { forkedFrom: { ...mark } } };
}

export function forkMark({ forkedFrom }: JsonObject): ForkMark | undefined {
  if (!isObject(forkedFrom)) return undefined;
  const { from, leaf, state } = forkedFrom;
  if (typeof from !== 'string' || (typeof leaf !== 'string' && leaf !== null)) return undefined;
  return state === 'copying' || state === 'done' || state === 'too-long' ? { from, leaf, state } : undefined;
}
