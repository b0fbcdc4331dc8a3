import { z } from 'zod';
import type { InboundMessage } from '../engine/inbound.ts';
import type { InboxStatus } from '../engine/reprise.ts';
import { asTyped } from './events.ts';

type Image = NonNullable<InboundMessage['images']>[number];

/** What every message may carry, whichever door it comes through. */
interface MessageFields
  extends Omit<InboundMessage, 'text' | 'channel' | 'agentId' | 'images' | 'idempotencyKey' | 'system'> {
  readonly images?: readonly Image[];
}

export interface ChatRequest extends MessageFields {
  readonly message: string;
  readonly channel?: string;
}

export interface InboundRequest extends MessageFields {
  readonly text: string;
  readonly channel: string;
  readonly agentId?: string;
  readonly system?: boolean;
}

const name = z.string().min(1).max(512);
const image: z.ZodType<Image> = z.union([
  z.string(),
  z.strictObject({ data: z.string(), mimeType: z.string() }),
]);
const fields = {
  sessionId: name
    .optional()
    .meta({ description: 'This session; one that is not there is made under this id.' }),
  sessionKey: name.optional(),
  context: z.string().optional().meta({ description: 'More for the model to know in this turn.' }),
  images: z.array(image).optional(),
  account: name.optional(),
  guild: name.optional(),
  peer: name.optional(),
  peerKind: z.enum(['direct', 'group', 'channel']).optional(),
  thread: name.optional(),
  sender: z.strictObject({ id: name, name: z.string().max(512).optional() }).optional(),
  messageId: name.optional(),
  mentioned: z.boolean().optional(),
  queue: z
    .enum(['steer', 'followup', 'queue', 'collect', 'steer-backlog', 'steer+backlog', 'interrupt', 'reject'])
    .optional()
    .meta({ description: 'What happens where the session is busy; `reject` answers 409.' }),
};

export const chatRequestSchema: z.ZodType<ChatRequest> = asTyped(
  z.strictObject({
    message: z.string(),
    channel: name.optional(),
    ...fields,
  }),
);

export const inboundRequestSchema: z.ZodType<InboundRequest> = asTyped(
  z.strictObject({
    text: z.string(),
    channel: name,
    agentId: name.optional(),
    system: z.boolean().optional(),
    ...fields,
  }),
);

export interface ChatStatus {
  readonly status: 'idle' | 'generating';
  readonly sessionId: string;
  /** The message that is answered or will be next. */
  readonly inboxId?: string;
  readonly turnId?: string;
  /** How many messages wait. */
  readonly queued: number;
}

export const chatStatusSchema: z.ZodType<ChatStatus> = asTyped(
  z.object({
    status: z.enum(['idle', 'generating']),
    sessionId: z.string(),
    inboxId: z.string().optional(),
    turnId: z.string().optional(),
    queued: z.int(),
  }),
);

export interface StopAnswer {
  readonly stopped: boolean;
  readonly cancelled: number;
}

export const stopAnswerSchema: z.ZodType<StopAnswer> = asTyped(
  z.object({
    stopped: z.boolean(),
    cancelled: z.int(),
  }),
);

/** What became of an accepted message. */
export type InboxAnswer = InboxStatus & { readonly inboxId: string };

const state = z.enum([
  'accepted',
  'running',
  'done',
  'failed',
  'cancelled',
  'merged',
  'dropped',
  'interrupted',
]);

const inboxFields = {
  inboxId: z.string(),
  sessionId: z.string(),
  status: state,
  turnId: z.string().optional(),
  reply: z.object({ text: z.string() }).optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
  mergedInto: z.string().optional(),
};

export const inboxAnswerSchema: z.ZodType<InboxAnswer> = asTyped(z.object(inboxFields));

/** A message that was taken in; with `wait` also what became of it meanwhile. */
export interface InboundAnswer extends InboxAnswer {
  readonly sessionKey: string;
  /** False: this very message was accepted before. */
  readonly fresh: boolean;
  readonly command?: { readonly name: string; readonly text: string };
  readonly ignored?: string;
}

export const inboundAnswerSchema: z.ZodType<InboundAnswer> = asTyped(
  z.object({
    ...inboxFields,
    sessionKey: z.string(),
    fresh: z.boolean(),
    command: z.object({ name: z.string(), text: z.string() }).optional(),
    ignored: z.string().optional(),
  }),
);
