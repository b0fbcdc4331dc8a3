import { quote } from './json.ts';
import type { Report } from './violation.ts';

export interface ToolRef {
  readonly id: string;
  readonly at: string;
}

/** The calls of one turn, and the results found where the provider looks for them. */
export interface ToolExchange {
  readonly calls: readonly ToolRef[];
  readonly results: readonly ToolRef[];
}

/** The provider's names for each broken rule. */
export interface ToolExchangeWords {
  readonly unanswered: string;
  readonly orphan: string;
  readonly repeated: string;
  /** Unset if the provider accepts the same id twice in a request. */
  readonly reused?: string;
}

/** For providers that accept results only in the message right after the calls. */
export function adjacentExchanges(turns: readonly ToolExchange[]): ToolExchange[] {
  const exchanges: ToolExchange[] = [];
  for (let next = 0; next <= turns.length; next += 1) {
    const calls = turns[next - 1]?.calls ?? [];
    const results = turns[next]?.results ?? [];
    if (calls.length > 0 || results.length > 0) exchanges.push({ calls, results });
  }
  return exchanges;
}

/** Checks that every call has exactly one result, every result a call, and that no id is used for two calls. */
export function judgeExchanges(
  exchanges: readonly ToolExchange[],
  words: ToolExchangeWords,
  report: Report,
): void {
  const used = new Set<string>();
  const say = (rule: string, ref: ToolRef, message: string): void =>
    report(rule, ref.at, `${message}: ${quote(ref.id)}`);
  for (const { calls, results } of exchanges) {
    const called = new Set(calls.map((call) => call.id));
    const answered = new Set<string>();
    for (const result of results) {
      if (!called.has(result.id)) say('tool-result-without-use', result, words.orphan);
      else if (answered.has(result.id)) say('duplicate-tool-result', result, words.repeated);
      answered.add(result.id);
    }
    for (const call of calls) {
      if (!answered.has(call.id)) say('tool-use-without-result', call, words.unanswered);
      if (words.reused !== undefined && used.has(call.id)) say('duplicate-tool-use-id', call, words.reused);
      used.add(call.id);
    }
  }
}
