import { z } from 'zod';
import type { InboundMessage } from '../engine/inbound.ts';
import type { InboxStatus } from '../engine/reprise.ts';

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
    .exactOptional()
    .meta({ description: 'This session; one that is not there is made under this id.' }),
  sessionKey: name.exactOptional(),
  context: z.string().exactOptional().meta({ description: 'More for the model to know in this turn.' }),
  images: z.array(image).exactOptional(),
  account: name.exactOptional(),
  guild: name.exactOptional(),
  peer: name.exactOptional(),
  peerKind: z.enum(['direct', 'group', 'channel']).exactOptional(),
  thread: name.exactOptional(),
  sender: z.strictObject({ id: name, name: z.string().max(512).exactOptional() }).exactOptional(),
  messageId: name.exactOptional(),
  mentioned: z.boolean().exactOptional(),
  queue: z
    .enum(['steer', 'followup', 'queue', 'collect', 'steer-backlog', 'steer+backlog', 'interrupt', 'reject'])
    .exactOptional()
    .meta({ description: 'What happens where the session is busy; `reject` answers 409.' }),
};

export const chatRequestSchema: z.ZodType<ChatRequest> = z.strictObject({
  message: z.string(),
  channel: name.exactOptional(),
  ...fields,
});

export const inboundRequestSchema: z.ZodType<InboundRequest> = z.strictObject({
  text: z.string(),
  channel: name,
  agentId: name.exactOptional(),
  system: z.boolean().exactOptional(),
  ...fields,
});

export interface ChatStatus {
  readonly status: 'idle' | 'generating';
  readonly sessionId: string;
  /** The message that is answered or will be next. */
  readonly inboxId?: string;
  readonly turnId?: string;
  /** How many messages wait. */
  readonly queued: number;
}

export const chatStatusSchema: z.ZodType<ChatStatus> = z.object({
  status: z.enum(['idle', 'generating']),
  sessionId: z.string(),
  inboxId: z.string().exactOptional(),
  turnId: z.string().exactOptional(),
  queued: z.int(),
});

export interface StopAnswer {
  readonly stopped: boolean;
  readonly cancelled: number;
}

export const stopAnswerSchema: z.ZodType<StopAnswer> = z.object({
  stopped: z.boolean(),
  cancelled: z.int(),
});

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
  turnId: z.string().exactOptional(),
  reply: z.object({ text: z.string() }).exactOptional(),
  error: z.object({ code: z.string(), message: z.string() }).exactOptional(),
  mergedInto: z.string().exactOptional(),
};

export const inboxAnswerSchema: z.ZodType<InboxAnswer> = z.object(inboxFields);

/** A message that was taken in; with `wait` also what became of it meanwhile. */
export interface InboundAnswer extends InboxAnswer {
  readonly sessionKey: string;
  /** False: this very message was accepted before. */
  readonly fresh: boolean;
  readonly command?: { readonly name: string; readonly text: string };
  readonly ignored?: string;
}

export const inboundAnswerSchema: z.ZodType<InboundAnswer> = z.object({
  ...inboxFields,
  sessionKey: z.string(),
  fresh: z.boolean(),
  command: z.object({ name: z.string(), text: z.string() }).exactOptional(),
  ignored: z.string().exactOptional(),
});
