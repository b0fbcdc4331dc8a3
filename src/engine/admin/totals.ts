import { customData, type Entry, type Usage } from '../../transcript/entry.ts';
import { isObject } from '../../transcript/json.ts';

/** The usage of a session so far, from the turns that ended. */
export interface SessionTotals {
  readonly turns: number;
  /** Number of model calls. */
  readonly calls: number;
  readonly usage: Usage;
}

export const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };

export function totalsOf(entries: readonly Entry[]): SessionTotals {
  let totals: SessionTotals = { turns: 0, calls: 0, usage: NO_USAGE };
  for (const entry of entries) {
    const turn = customData(entry, 'reprise.turn');
    if (turn === undefined) continue;
    const { usage, calls } = turn;
    totals = {
      turns: totals.turns + 1,
      calls: totals.calls + (Array.isArray(calls) ? calls.length : 0),
      usage: isObject(usage) ? addUsage(totals.usage, usage as unknown as Usage) : totals.usage,
    };
  }
  return totals;
}

export function addUsage(a: Usage, b: Usage): Usage {
  const cost: Record<string, number> = { ...a.cost };
  for (const [name, value] of Object.entries(b.cost ?? {})) cost[name] = (cost[name] ?? 0) + value;
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    totalTokens: a.totalTokens + b.totalTokens,
    ...(Object.keys(cost).length > 0 && { cost }),
  };
}
