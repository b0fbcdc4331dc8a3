import { z } from 'zod';
import { agentIdSchema } from './ids.ts';
import { cursorSchema, limitShape, pageShape } from './page.ts';

const name = z.string().min(1).max(1024);

export interface ConversationsQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly agentId?: string | undefined;
  readonly channelType?: string | undefined;
  readonly member?: string | undefined;
  readonly q?: string | undefined;
  readonly sort?: 'time' | 'messages' | undefined;
}

const filters = {
  ...limitShape(50, 500),
  cursor: cursorSchema.optional(),
  channelType: name.optional().meta({ description: 'telegram, web, …, in upper or lower case.' }),
  member: name.optional().meta({ description: 'The id or name of a sender.' }),
  q: z.string().min(1).max(500).optional().meta({ description: 'Text in a message.' }),
  sort: z.enum(['time', 'messages']).optional(),
};

export const conversationsQuery: z.ZodType<ConversationsQuery> = z.strictObject({
  ...filters,
  agentId: agentIdSchema.optional(),
});

export const agentConversationsQuery: z.ZodType<ConversationsQuery> = z.strictObject(filters);

const sender = z.object({ id: z.string(), name: z.string().optional() });

const chat = z.object({
  id: z.string().meta({ description: 'The channel id; unique within an agent and a channel type.' }),
  agentId: z.string(),
  channelType: z.string(),
  channelId: z.string(),
  messages: z.int(),
  firstAt: z.string(),
  lastAt: z.string(),
  lastText: z.string(),
  members: z.array(sender),
});

export const conversationList: z.ZodType = z.object({
  ...pageShape(chat),
  cursor: z.string().nullable(),
  complete: z.boolean().meta({ description: 'False: the time was over; the next page looks on.' }),
  total: z
    .int()
    .nullable()
    .meta({ description: 'How many chats match on all pages. Null with q, which would read every line.' }),
});

export interface ConversationParams {
  readonly agentId: string;
  readonly channelId: string;
}

export const conversationParams: z.ZodType<ConversationParams> = z.object({
  agentId: agentIdSchema,
  channelId: name,
});

export interface ConversationQuery {
  readonly limit: number;
  readonly channelType?: string | undefined;
  readonly after?: number | undefined;
  readonly before?: number | undefined;
  readonly member?: string | undefined;
  readonly q?: string | undefined;
}

const lineNumber = z.coerce
  .number()
  .int()
  .min(0)
  .max(Number.MAX_SAFE_INTEGER - 1);

/** Without `after` and `before` the newest page; oldest message first. */
export const conversationQuery: z.ZodType<ConversationQuery> = z
  .strictObject({
    ...limitShape(200, 1000),
    channelType: filters.channelType,
    after: lineNumber.optional(),
    before: lineNumber.optional(),
    member: filters.member,
    q: filters.q,
  })
  .refine(({ after, before }) => after === undefined || before === undefined, {
    params: { exclusive: ['after', 'before'] },
  });

const line = z.object({
  id: z.string(),
  number: z.int(),
  ts: z.string(),
  role: z.enum(['user', 'assistant', 'system']),
  content: z.string(),
  sender: sender.optional(),
  sessionId: z.string().optional(),
  messageId: z.string().optional(),
});

export const conversationPage: z.ZodType = z.object({
  conversation: z.object({ agentId: z.string(), channelType: z.string(), channelId: z.string() }),
  ...pageShape(line),
});
