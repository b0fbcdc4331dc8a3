import type { SessionRecord } from '../store/store.ts';
import type { Entry, Usage } from '../transcript/entry.ts';
import { isObject } from '../transcript/json.ts';

/** One call of a model, as it is on record. */
export interface Call {
  /** ISO time. */
  readonly at: string;
  readonly model: string;
  readonly usage: Usage;
}

/**
 * Finds the calls of one session, entry by entry. The record of a turn names all of its calls. Answers have their usage
 * as well, which counts where no turn of ours is behind them: in transcripts of other tools. What a fork or a repaired
 * session begins with counts in the session it was copied from.
 */
export class CallReader {
  readonly #hasParent: boolean;
  #answers: Call[] = [];

  constructor({ parentId }: Pick<SessionRecord, 'parentId'>) {
    this.#hasParent = parentId !== undefined;
  }

  take({ type, customType, timestamp, copiedAt, data, message }: Entry): readonly Call[] {
    if (this.#hasParent && copiedAt !== undefined) return [];
    const at = typeof copiedAt === 'string' ? copiedAt : timestamp;
    if (type === 'custom' && customType === 'reprise.turn' && isObject(data)) {
      const calls = Array.isArray(data['calls']) ? data['calls'] : [];
      const foreign = this.#answers.slice(0, Math.max(0, this.#answers.length - calls.length));
      this.#answers = [];
      return [...foreign, ...calls.flatMap((call) => callOf(call, at))];
    }
    if (isObject(message) && message['role'] === 'assistant') this.#answers.push(...callOf(message, at));
    return [];
  }

  /** What no turn has claimed. */
  end(): readonly Call[] {
    return this.#answers;
  }
}

function callOf(call: unknown, at: string): Call[] {
  if (!isObject(call)) return [];
  const usage = usageOf(call['usage']);
  const model = [call['provider'], call['model']].filter((part) => typeof part === 'string' && part !== '');
  return usage === undefined ? [] : [{ at, model: model.join(':') || 'unknown', usage }];
}

/** Any tool may have written it, so nothing is believed to be a number. */
function usageOf(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const n = (name: string): number => (typeof value[name] === 'number' ? value[name] : 0);
  const { cost } = value;
  const prices = isObject(cost)
    ? Object.entries(cost).filter((pair): pair is [string, number] => typeof pair[1] === 'number')
    : [];
  return {
    input: n('input'),
    output: n('output'),
    cacheRead: n('cacheRead'),
    cacheWrite: n('cacheWrite'),
    totalTokens: n('totalTokens'),
    ...(prices.length > 0 && { cost: Object.fromEntries(prices) }),
  };
}
