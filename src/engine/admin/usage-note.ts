import type { Note } from '../../store/port/notes.ts';
import type { Entry } from '../../transcript/entry.ts';
import { isObject, type JsonObject } from '../../transcript/json.ts';
import { UsageCounter, type UsageFact } from './usage-counter.ts';
import { UsageSums } from './usage-sums.ts';

/** Notes of another version are ignored, and all lines are counted again. */
export const USAGE_NOTES = 'usage-1';

/** The sums of a session up to a line. */
export class CountedSession {
  readonly agentId: string;
  readonly sums: UsageSums;
  readonly counter: UsageCounter;
  seq: number;
  /** The time of the last line. */
  at: string;

  constructor({ agentId, counter, sums, seq, at }: Omit<CountedSession, 'count'>) {
    this.agentId = agentId;
    this.counter = counter;
    this.sums = sums;
    this.seq = seq;
    this.at = at;
  }

  count(entries: readonly Entry[]): void {
    // Unclaimed items are counted as they are. A turn that claims one reports it again, more precisely.
    for (const fact of this.counter.unclaimed()) this.sums.add(fact, -1);
    for (const entry of entries) for (const fact of this.counter.take(entry)) this.sums.add(fact);
    for (const fact of this.counter.unclaimed()) this.sums.add(fact);
    this.at = entries.at(-1)?.timestamp ?? this.at;
  }
}

export interface CountedFrom {
  readonly agentId: string;
  readonly hasParent: boolean;
}

export function newlyCounted({ agentId, hasParent }: CountedFrom): CountedSession {
  const counter = new UsageCounter({ hasParent });
  return new CountedSession({ agentId, counter, sums: new UsageSums(), seq: 0, at: '' });
}

export function toNote(id: string, { agentId, sums, counter, seq, at }: CountedSession): Note {
  const { hasParent } = counter;
  const value = { agentId, at, hasParent, sums: [...sums.facts()], unclaimed: [...counter.unclaimed()] };
  return { id, seq, value: JSON.parse(JSON.stringify(value, withoutZeros)) as JsonObject };
}

/** @returns `undefined` if the note is not valid; that only costs a recount. */
export function fromNote({ seq, value }: Note): CountedSession | undefined {
  const { agentId, at, hasParent, sums, unclaimed } = value;
  if (typeof agentId !== 'string' || typeof at !== 'string' || typeof hasParent !== 'boolean')
    return undefined;
  if (!isFacts(sums) || !isFacts(unclaimed)) return undefined;
  const all = new UsageSums();
  for (const fact of sums) all.add(fact);
  return new CountedSession({
    agentId,
    counter: new UsageCounter({ hasParent, unclaimed }),
    sums: all,
    ...{ seq, at },
  });
}

function isFacts(value: unknown): value is UsageFact[] {
  return (
    Array.isArray(value) &&
    value.every(
      (fact) =>
        isObject(fact) &&
        typeof fact['day'] === 'string' &&
        typeof fact['model'] === 'string' &&
        isObject(fact['add']) &&
        Object.values(fact['add']).every((n) => typeof n === 'number'),
    )
  );
}

/** Leaves out zeros: most sums of most days are 0. */
function withoutZeros(_name: string, value: unknown): unknown {
  return value === 0 ? undefined : value;
}
