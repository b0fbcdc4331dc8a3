import { customData, type Entry } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';

/** What was used and done, as sums. */
export interface UsageSum {
  readonly turns: number;
  /** Turns that did not end with an answer: stopped, failed, interrupted. */
  readonly failed: number;
  /** Of a model. */
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly totalTokens: number;
  /** In the currency of the provider; 0 where it names no prices. */
  readonly cost: number;
  /** Tool results that were shortened and messages that were left out, so that a request fits. */
  readonly guardSteps: number;
  readonly compactions: number;
  /** Damaged sessions that go on in another. */
  readonly repairs: number;
}

export type UsageName = keyof UsageSum;

/** Something that counts, where it counts. */
export interface UsageFact {
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string;
  /** `provider:model`; empty for what no model has done. */
  readonly model: string;
  readonly add: Partial<UsageSum>;
}

export interface UsageCounterOptions {
  /** Whether the session was made of another one. */
  readonly hasParent: boolean;
  /** Where counting goes on: what was unclaimed then. */
  readonly unclaimed?: readonly UsageFact[];
}

/** No turn has more calls: answers that are older are claimed by none. */
const MAX_UNCLAIMED = 256;
const TOKEN_NAMES = ['input', 'output', 'cacheRead', 'cacheWrite', 'totalTokens'] as const;
const DAY = /^\d{4}-\d\d-\d\d/;

/**
 * Finds what counts in one session, entry by entry. The record of a turn names all of its calls. Answers have their usage
 * as well, which counts where no turn of ours is behind them: in transcripts of other tools. What a fork or a repaired
 * session begins with counts in the session it was copied from.
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

  /** What no turn has claimed so far. */
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

/** Any tool may have written it, so nothing is believed to be a number. */
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
