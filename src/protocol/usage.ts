import { z } from 'zod';
import type { UsageSum } from '../engine/admin/usage-counter.ts';
import type { UsageOverview } from '../engine/admin/usage-sums.ts';
import { agentIdSchema } from './ids.ts';

export type { UsageOverview };

export interface UsageQueryView {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly agentId?: string | undefined;
}

const day = z.iso.date();

export const usageQuery: z.ZodType<UsageQueryView> = z.strictObject({
  from: day.optional().meta({ description: 'The first day, in UTC; by default 29 days before the last.' }),
  to: day.optional().meta({ description: 'The last day; by default today. At most 366 days in all.' }),
  agentId: agentIdSchema.optional(),
});

const count = z.int();
const tokens = z.number();
const sum = z.object({
  turns: count,
  failed: count.meta({ description: 'Turns that were stopped, failed or interrupted' }),
  calls: count.meta({ description: 'Of a model' }),
  input: tokens,
  output: tokens,
  cacheRead: tokens,
  cacheWrite: tokens,
  totalTokens: tokens,
  cost: z.number().meta({ description: 'As the providers price it; 0 where they name none' }),
  guardSteps: count.meta({
    description: 'Tool results that were shortened, and what else was left out to fit',
  }),
  compactions: count,
  repairs: count.meta({ description: 'Damaged sessions that were repaired into a new session' }),
}) satisfies z.ZodType<UsageSum>;

export const usageAnswer: z.ZodType = z
  .object({
    from: z.string(),
    to: z.string(),
    total: sum,
    days: z
      .array(sum.extend({ day: z.string() }))
      .meta({ description: 'With something in them, oldest first' }),
    agents: z.array(sum.extend({ agentId: z.string() })).meta({ description: 'At most 100, by tokens' }),
    models: z.array(sum.extend({ model: z.string() })).meta({ description: 'At most 100, by tokens' }),
    complete: z.boolean().meta({ description: 'False: not every line has been read yet; ask again.' }),
    progress: z.object({ done: z.int(), total: z.int() }).optional().meta({ description: 'In lines' }),
  })
  .meta({ id: 'Usage' });
