import { z } from 'zod';
import { agentIdSchema } from './ids.ts';
import { limitShape, pageShape } from './page.ts';

const agent = z.object({
  id: z.string(),
  model: z.string().meta({ description: 'provider/model, where a session has not chosen' }),
  profile: z.string().optional(),
});

export const agentList: z.ZodType = z.object(pageShape(agent));

export interface SearchQueryView {
  readonly q: string;
  readonly limit: number;
  readonly agentId?: string | undefined;
}

export const searchQuery: z.ZodType<SearchQueryView> = z.strictObject({
  q: z.string().min(1).max(500),
  ...limitShape(20, 200),
  agentId: agentIdSchema.optional(),
});

const hit = z.object({ id: z.string(), sessionId: z.string(), seq: z.int(), snippet: z.string() });

export const searchAnswer: z.ZodType = z.object({
  ...pageShape(hit),
  complete: z.boolean().meta({ description: 'False: the time was over; there may be older ones.' }),
});

const lane = z.object({ running: z.int(), waiting: z.int() });

export const statsAnswer: z.ZodType = z.object({
  sessions: z.int(),
  bytes: z.number(),
  behind: z.int(),
  disk: z.object({ freeBytes: z.number(), minFreeBytes: z.number() }).optional(),
  rebuilding: z.object({ done: z.int(), total: z.int() }).optional(),
  lanes: z.record(z.string(), lane),
});

export const healthAnswer: z.ZodType = z.object({ status: z.literal('ok') });

export const readyAnswer: z.ZodType = z.object({ status: z.literal('ready'), version: z.string() });
