import { z } from 'zod';
import { maybe } from './maybe.ts';
import { messageSchema } from './message.ts';
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
    why: maybe(messageSchema).meta({
      description: 'The cause as a code, for a text in another language; `detail` is its English text.',
    }),
    details: z.looseObject({
      next: z.string().meta({ description: 'What to do.' }),
      general: z.literal(true).optional().meta({
        description: '`next` is the default next step of the code, written for programs.',
      }),
    }),
  })
  .meta({ id: 'Problem' });
