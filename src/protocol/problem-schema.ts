import { z } from 'zod';
import type { Problem } from './problem.ts';

export const problemSchema: z.ZodType<Problem> = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: z.string(),
    error: z.string(),
    retryable: z.boolean(),
    outcome: z.enum(['none', 'unknown']),
    details: z.looseObject({ next: z.string() }),
  })
  .meta({ id: 'Problem' });
