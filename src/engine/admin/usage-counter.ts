import { customData, type Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';

/** Sums of usage and events. */
export interface UsageSum {
  readonly turns: number;
  /** Turns that did not end with an answer: stopped, failed, interrupted. */
  readonly failed: number;
  /** Model calls. */
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly totalTokens: number;
  /** In the provider's currency; 0 if it has no prices. */
  readonly cost: number;
  /** Tool results that were shortened and messages that were left out to make a request fit. */
  readonly guardSteps: number;
  readonly compactions: number;
  /** Damaged sessions that continue in another one. */
  readonly repairs: number;
}

export type UsageName = keyof UsageSum;

/** One item to count, with its day and model. */
export interface UsageFact {
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string;
  /** `provider:model`; empty for items without a model. */
  readonly model: string;
  readonly add: Partial<UsageSum>;
}

export interface UsageCounterOptions {
  /** Whether the session was created from another one. */
  readonly hasParent: boolean;
  /** Continues an earlier count with the items that were unclaimed then. */
  readonly unclaimed?: readonly UsageFact[];
}

/** No turn has more calls, so older unclaimed answers will never be claimed. */
const MAX_UNCLAIMED = 256;
const TOKEN_NAMES = ['input', 'output', 'cacheRead', 'cacheWrite', 'totalTokens'] as const;
const DAY = /^\d{4}-\d\d-\d\d/;

/**
 * Finds the items to count in a session, entry by entry. The record of a turn names all of its calls. Answers contain
 * usage too; it counts only if no turn of Reprise claims the answer, as in transcripts of other tools. The part of a
 * fork or a repaired session that was copied counts in the session it came from.
 */
export class UsageCounter {
  readonly hasParent: boolean;
  #answers: UsageFact[];

  constructor({ hasParent, unclaimed = [] }: UsageCounterOptions) {
    this.hasParent = hasParent;
    this.#answers = [...unclaimed];
  }

  take(entry: Entry): readonly UsageFact[] {
    const { type, customType, timestamp, copiedAt, message } = entry;
    if (this.hasParent && copiedAt !== undefined) return [];
    const day = dayOf(copiedAt) ?? dayOf(timestamp) ?? '';
    const once = (name: UsageName): UsageFact[] => [{ day, model: '', add: { [name]: 1 } }];
    if (type === 'compaction') return once('compactions');
    if (type === 'context_edit') return once('guardSteps');
    if (type === 'custom' && customType === 'reprise.repair') return once('repairs');
    const turn = customData(entry, 'reprise.turn');
    if (turn !== undefined) return this.#turn(turn, day);
    if (!isObject(message) || message['role'] !== 'assistant') return [];
    this.#answers.push(...callOf(message, day));
    return this.#answers.length > MAX_UNCLAIMED ? this.#answers.splice(0, 1) : [];
  }

  /** Items that no turn has claimed so far. */
  unclaimed(): readonly UsageFact[] {
    return this.#answers;
  }

  #turn(data: Readonly<Record<string, unknown>>, day: string): UsageFact[] {
    const calls = Array.isArray(data['calls']) ? data['calls'] : [];
    const foreign = this.#answers.slice(0, Math.max(0, this.#answers.length - calls.length));
    this.#answers = [];
    const found = calls.flatMap((call) => callOf(call, day));
    const model = found.at(-1)?.model ?? '';
    const failed = data['status'] === 'done' ? {} : { failed: 1 };
    return [...foreign, ...found, { day, model, add: { turns: 1, ...failed } }];
  }
}

function dayOf(time: unknown): string | undefined {
  return typeof time === 'string' ? DAY.exec(time)?.[0] : undefined;
}

/** Any tool may have written the entry, so every number is checked. */
function callOf(call: unknown, day: string): UsageFact[] {
  if (!isObject(call) || !isObject(call['usage'])) return [];
  const { usage, provider, model } = call;
  const tokens = TOKEN_NAMES.map((name) => [name, numberOf(usage[name])]);
  const { cost } = usage;
  const named = [provider, model].filter((part) => typeof part === 'string' && part !== '');
  const add = { ...Object.fromEntries(tokens), calls: 1, cost: isObject(cost) ? numberOf(cost['total']) : 0 };
  return [{ day, model: named.join(':') || 'unknown', add }];
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
