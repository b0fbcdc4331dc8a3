import { z } from 'zod';
import type { CommandRow } from '../engine/commands/commands.ts';
import { sessionIdSchema } from './ids.ts';
import { messageSchema } from './message.ts';
import { pageShape } from './page.ts';

export interface CommandBody {
  readonly command: string;
  readonly confirm?: boolean | undefined;
}

export const commandBody: z.ZodType<CommandBody> = z.strictObject({
  command: z
    .string()
    .min(1)
    .max(10_000)
    .meta({ description: 'As it is typed: /compact, /rename plans', example: '/status' }),
  confirm: z.boolean().optional().meta({ description: 'Yes to what the command would ask.' }),
});

/** The answer to a command. */
export const commandAnswer: z.ZodType = z.object({
  name: z.string(),
  text: z.string().meta({ description: '`messages` in English.' }),
  messages: z.array(messageSchema),
  sessionId: sessionIdSchema.optional().meta({ description: 'The session to continue in.' }),
  listed: z
    .array(sessionIdSchema)
    .optional()
    .meta({ description: 'The sessions of a printed list, in the order of its numbers.' }),
  inboxId: z
    .string()
    .optional()
    .meta({ description: 'A message was sent: GET …/chat/stream streams its turn.' }),
});

export type CommandView = Pick<CommandRow, 'name' | 'aliases' | 'args' | 'help' | 'group'> & {
  readonly id: string;
};

const commandRow: z.ZodType<CommandView> = z.object({
  id: z.string(),
  name: z.string() as unknown as z.ZodType<CommandView['name']>,
  aliases: z.array(z.string()),
  args: z.string(),
  help: z.string(),
  group: z.string() as unknown as z.ZodType<CommandView['group']>,
});

export const commandList: z.ZodType = z.object(pageShape(commandRow));
