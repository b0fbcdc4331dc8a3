import type { UsageSum } from '../../../engine/admin/usage-counter.ts';
import { print, say } from '../../terminal/print.ts';
import { type Cell, table } from '../../terminal/table.ts';

export const TABLES = ['day', 'agent', 'model'] as const;
export type By = (typeof TABLES)[number];

export interface StatsRow {
  readonly by: By;
  readonly name: string;
  readonly sum: UsageSum;
}

export interface StatsQuery {
  readonly tables: readonly By[];
  /** The first day that is counted; empty means from the beginning. */
  readonly since: string;
  readonly agentId: string | undefined;
}

export function rowJson({ by, name, sum }: StatsRow): object {
  const { calls, input, output, cacheRead, cacheWrite, totalTokens, cost, ...happened } = sum;
  const usage = {
    input,
    output,
    cacheRead,
    cacheWrite,
    totalTokens,
    ...(cost > 0 && { cost: { total: cost } }),
  };
  return { by, name, calls, usage, ...happened };
}

export function showTables(tables: readonly By[], rows: readonly StatsRow[]): void {
  if (rows.length === 0) say('no turns recorded');
  for (const by of tables) {
    const own = rows.filter((row) => row.by === by);
    if (own.length === 0) continue;
    const lines = own.map(({ name, sum }): Cell[] => {
      const { calls, input, output, cacheRead, cacheWrite, cost, turns, failed } = sum;
      const price = cost === 0 ? '' : cost.toFixed(4);
      const used = [calls, input + cacheRead + cacheWrite, cacheRead, output, price];
      // Compactions and repairs are counted per session, not per model.
      const done = by === 'model' ? [] : [sum.guardSteps, sum.compactions, sum.repairs];
      return [name, ...used, turns, failed, ...done];
    });
    const done = by === 'model' ? [] : ['shortened', 'compacted', 'repaired'];
    const head = [by, 'calls', 'tokens in', 'cached', 'tokens out', 'cost', 'turns', 'failed', ...done];
    for (const line of table(head, lines)) print(line);
    print('');
  }
}
