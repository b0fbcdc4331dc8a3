import { z } from 'zod';
import { agentIdSchema, sessionIdSchema } from './ids.ts';
import { cursorSchema, limitShape, pageShape } from './page.ts';

const agent = z.object({
  id: z.string(),
  model: z.string().meta({ description: 'provider/model, where a session has not chosen' }),
  profile: z.string().optional(),
});

export const agentList: z.ZodType = z.object(pageShape(agent));

export interface SignInRequest {
  readonly keep: boolean;
}

export const signInRequest: z.ZodType<SignInRequest> = z.strictObject({
  keep: z
    .boolean()
    .default(false)
    .meta({ description: 'Keep it for 30 days, not only until the browser closes' }),
});

export const signInAnswer: z.ZodType = z.object({ signedIn: z.boolean() });

const modelOffer = z.object({
  id: z.string(),
  name: z.string().meta({ description: 'What `/model` and the setting `model` of a session take' }),
  contextWindow: z.int().nullable().meta({ description: 'In tokens; null: unknown' }),
  cost: z
    .object({ input: z.number(), output: z.number() })
    .nullable()
    .meta({ description: 'Dollars per million tokens; null: unknown' }),
});

export const modelList: z.ZodType = z.object(pageShape(modelOffer));

export interface SearchQueryView {
  readonly q: string;
  readonly limit: number;
  readonly agentId?: string | undefined;
  readonly channel?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly after?: string | undefined;
}

export const searchQuery: z.ZodType<SearchQueryView> = z.strictObject({
  q: z.string().min(1).max(500),
  ...limitShape(20, 200),
  agentId: agentIdSchema.optional(),
  channel: z.string().min(1).max(200).optional(),
  sessionId: sessionIdSchema.optional(),
  after: cursorSchema.optional().meta({ description: 'The `next` of the page before.' }),
});

const hitSession = z.object({
  sessionKey: z.string(),
  title: z.string(),
  label: z.string().optional(),
});

const hit = z.object({
  id: z.string(),
  sessionId: z.string(),
  agentId: z.string(),
  session: hitSession.optional().meta({ description: 'Unset: it was purged meanwhile.' }),
  seq: z.int(),
  entryId: z.string(),
  position: z
    .int()
    .optional()
    .meta({ description: 'Of a message on the current branch; people write it as #3' }),
  role: z.enum(['user', 'assistant', 'tool', 'summary', 'note']),
  at: z.string().meta({ description: 'When the message was stored' }),
  snippet: z.string(),
  marks: z
    .array(z.array(z.int()))
    .meta({ description: 'Begin and end of what was found, in UTF-16 units of the snippet' }),
});

const progress = z.object({ done: z.int(), total: z.int() });

export const searchAnswer: z.ZodType = z.object({
  ...pageShape(hit),
  next: z.string().nullable().meta({ description: 'For `after`: where older hits begin' }),
  complete: z.boolean().meta({ description: 'False: there may be hits that are not here; see `reason`.' }),
  reason: z.enum(['time', 'indexing']).optional(),
  index: progress.optional().meta({ description: 'How far the index is, where it does not have everything' }),
});

const lane = z.object({ running: z.int(), waiting: z.int() });

export const statsAnswer: z.ZodType = z.object({
  sessions: z.int(),
  bytes: z.number(),
  behind: z.int(),
  disk: z.object({ freeBytes: z.number(), minFreeBytes: z.number() }).optional(),
  rebuilding: progress.extend({ listed: z.int().optional() }).optional(),
  search: progress.extend({ bytes: z.number(), problem: z.string().optional() }).optional(),
  lanes: z.record(z.string(), lane),
});

export const healthAnswer: z.ZodType = z.object({ status: z.literal('ok') });

export const readyAnswer: z.ZodType = z.object({ status: z.literal('ready'), version: z.string() });
