import type { NewEntry } from '../../store/port/store.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';

/** The settings of a session that began with a copy of another one's history. */
export interface ForkMark {
  /** The session it was copied from, and the last copied entry; null: it had no entries. */
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
