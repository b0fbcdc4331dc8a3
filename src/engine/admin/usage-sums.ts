import type { UsageFact, UsageName, UsageSum } from './usage-counter.ts';

export const NOTHING_USED: UsageSum = {
  turns: 0,
  failed: 0,
  calls: 0,
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: 0,
  guardSteps: 0,
  compactions: 0,
  repairs: 0,
};

const NAMES = Object.keys(NOTHING_USED) as UsageName[];

/** Sums by day and model; sums that return to zero are removed. */
export class UsageSums {
  readonly #rows: Map<string, { day: string; model: string; sum: UsageSum }> = new Map();

  /** `times` -1 subtracts the item. */
  add({ day, model, add }: UsageFact, times: 1 | -1 = 1): void {
    const key = `${day} ${model}`;
    const sum = added(this.#rows.get(key)?.sum ?? NOTHING_USED, add, times);
    if (NAMES.every((name) => Math.abs(sum[name]) < 1e-9)) this.#rows.delete(key);
    else this.#rows.set(key, { day, model, sum });
  }

  addAll(others: UsageSums, times: 1 | -1): void {
    for (const { day, model, add } of others.facts()) this.add({ day, model, add }, times);
  }

  *facts(): Generator<UsageFact> {
    for (const { day, model, sum } of this.#rows.values()) yield { day, model, add: sum };
  }
}

export function added(sum: UsageSum, add: Partial<UsageSum>, times: 1 | -1 = 1): UsageSum {
  const result: Record<string, number> = {};
  for (const name of NAMES) result[name] = sum[name] + times * (add[name] ?? 0);
  return result as unknown as UsageSum;
}

export interface UsageOverview {
  /** Days; both ends are included. */
  readonly from: string;
  readonly to: string;
  readonly total: UsageSum;
  /** Days with any activity, oldest first. */
  readonly days: readonly (UsageSum & { readonly day: string })[];
  /** Agents, those with the most tokens first. */
  readonly agents: readonly (UsageSum & { readonly agentId: string })[];
  readonly models: readonly (UsageSum & { readonly model: string })[];
  /** False if not every line has been read yet; `progress` shows how far it is. */
  readonly complete: boolean;
  readonly progress?: { readonly done: number; readonly total: number };
}

/** Limit for the lists of agents and models. */
const MAX_ROWS = 100;

export interface UsagePeriod {
  readonly from: string;
  readonly to: string;
}

/** The report of a period over the given agents. */
export function reportOf(
  agents: Iterable<readonly [agentId: string, sums: UsageSums]>,
  { from, to }: UsagePeriod,
): Omit<UsageOverview, 'complete' | 'progress'> {
  const by = { day: new Map(), agentId: new Map(), model: new Map() } as Record<
    'day' | 'agentId' | 'model',
    Map<string, UsageSum>
  >;
  let total = NOTHING_USED;
  for (const [agentId, sums] of agents) {
    for (const { day, model, add } of sums.facts()) {
      if (day < from || day > to) continue;
      total = added(total, add);
      const into = (table: Map<string, UsageSum>, name: string): unknown =>
        table.set(name, added(table.get(name) ?? NOTHING_USED, add));
      into(by.day, day);
      into(by.agentId, agentId);
      if (model !== '') into(by.model, model);
    }
  }
  const most = (table: Map<string, UsageSum>): [string, UsageSum][] =>
    [...table].sort(([, a], [, b]) => b.totalTokens - a.totalTokens).slice(0, MAX_ROWS);
  return {
    from,
    to,
    total: rounded(total),
    days: [...by.day].sort(([a], [b]) => (a < b ? -1 : 1)).map(([day, sum]) => ({ day, ...rounded(sum) })),
    agents: most(by.agentId).map(([agentId, sum]) => ({ agentId, ...rounded(sum) })),
    models: most(by.model).map(([model, sum]) => ({ model, ...rounded(sum) })),
  };
}

/** Rounds prices to nine digits, because sums of floating-point numbers are not exact beyond that. */
function rounded(sum: UsageSum): UsageSum {
  return { ...sum, cost: Math.round(sum.cost * 1e9) / 1e9 };
}
