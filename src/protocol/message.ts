import { z } from 'zod';
import type { Message } from '../messages/message.ts';

/** Of any version: a client shows the English text beside it for a code it does not know. */
export const messageSchema: z.ZodType<Message> = z
  .object({
    code: z.string().meta({ description: 'Stable.', example: 'compact.done' }),
    params: z
      .record(z.string(), z.unknown())
      .meta({ description: 'What the text contains: names, numbers, text that people wrote.' }),
  })
  .meta({
    id: 'Message',
    description: 'A text without a language: translate the code, and fill in the parameters.',
  }) as unknown as z.ZodType<Message>;
