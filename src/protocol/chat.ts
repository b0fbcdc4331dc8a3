import { z } from 'zod';
import type { InboundMessage } from '../engine/intake/inbound.ts';
import type { InboxStatus } from '../engine/reprise.ts';
import type { Message } from '../messages/message.ts';
import { redactText } from '../transcript/redact/redact.ts';
import { maybe } from './maybe.ts';
import { messageSchema } from './message.ts';
import { maskedWhy } from './problem.ts';

type Image = NonNullable<InboundMessage['images']>[number];

/** Fields of a message, on the chat and the channel routes. */
interface MessageFields
  extends Omit<InboundMessage, 'text' | 'channel' | 'agentId' | 'images' | 'idempotencyKey' | 'system'> {
  readonly images?: readonly Image[];
}

export interface ChatRequest extends MessageFields {
  readonly message: string;
  readonly channel?: string;
  /** Entry id of a message to replace: the new text uses its images, and the messages after it remain as a branch. */
  readonly before?: string;
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
  sessionId: maybe(name).meta({ description: 'This session; one that is not there is made under this id.' }),
  sessionKey: maybe(name),
  context: maybe(z.string()).meta({ description: 'More for the model to know in this turn.' }),
  images: maybe(z.array(image)),
  account: maybe(name),
  guild: maybe(name),
  peer: maybe(name),
  peerKind: maybe(z.enum(['direct', 'group', 'channel'])),
  thread: maybe(name),
  sender: maybe(z.strictObject({ id: name, name: maybe(z.string().max(512)) })),
  messageId: maybe(name),
  mentioned: maybe(z.boolean()),
  queue: maybe(
    z.enum([
      'steer',
      'followup',
      'queue',
      'collect',
      'steer-backlog',
      'steer+backlog',
      'interrupt',
      'reject',
    ]),
  ).meta({ description: 'What happens where the session is busy; `reject` answers 409.' }),
};

/** ZyHive front ends also send these. They are ignored: Reprise stores the history itself. */
export const ZYHIVE_CHAT_FIELDS = ['scenario', 'skillId', 'history'] as const;

export interface ChatBody extends ChatRequest {
  readonly scenario?: unknown;
  readonly skillId?: unknown;
  readonly history?: unknown;
}

const zyhiveField = z.unknown().optional().meta({
  description: 'Of ZyHive front ends: ignored by an agent with profile zyhive, refused by any other.',
});

export const chatBodySchema: z.ZodType<ChatBody> = z.strictObject({
  message: z.string(),
  scenario: zyhiveField,
  skillId: zyhiveField,
  history: zyhiveField,
  channel: maybe(name),
  before: maybe(name).meta({
    description:
      'The id of a message of `sessionId` to replace: the new text uses its images, and the messages after it remain as a branch.',
  }),
  ...fields,
});

export const inboundRequestSchema: z.ZodType<InboundRequest> = z.strictObject({
  text: z.string(),
  channel: name,
  agentId: maybe(name),
  system: maybe(z.boolean()),
  ...fields,
});

export interface ChatStatus {
  readonly status: 'idle' | 'generating';
  readonly sessionId: string;
  /** The message that is being answered, or the next one. */
  readonly inboxId?: string;
  readonly turnId?: string;
  /** Number of queued messages. */
  readonly queued: number;
}

export const chatStatusSchema: z.ZodType<ChatStatus> = z.object({
  status: z.enum(['idle', 'generating']),
  sessionId: z.string(),
  inboxId: maybe(z.string()),
  turnId: maybe(z.string()),
  queued: z.int(),
});

export interface StopAnswer {
  readonly stopped: boolean;
  readonly cancelled: number;
  /** Tasks of child agents, and of their children, that were stopped too. */
  readonly children: number;
}

export const stopAnswerSchema: z.ZodType<StopAnswer> = z.object({
  stopped: z.boolean(),
  cancelled: z.int(),
  children: z.int(),
});

/** The state of an accepted message. */
export type InboxAnswer = InboxStatus & { readonly inboxId: string };

export const inboxState: z.ZodType<InboxStatus['status']> = z.enum([
  'accepted',
  'running',
  'done',
  'failed',
  'cancelled',
  'merged',
  'dropped',
  'held',
  'interrupted',
]);

const inboxFields = {
  inboxId: z.string(),
  sessionId: z.string(),
  status: inboxState,
  turnId: maybe(z.string()),
  reply: maybe(z.object({ text: z.string() })),
  error: maybe(z.object({ code: z.string(), message: z.string(), why: maybe(messageSchema) })),
  mergedInto: maybe(z.string()),
};

export const inboxAnswerSchema: z.ZodType<InboxAnswer> = z.object(inboxFields);

/** The error text is masked, because a provider may repeat an API key (T87). */
export function inboxAnswer(inboxId: string, { error, ...status }: InboxStatus): InboxAnswer {
  return {
    inboxId,
    ...status,
    ...(error !== undefined && { error: masked(error) }),
  };
}

type Failure = NonNullable<InboxStatus['error']>;

function masked({ code, message, why: cause }: Failure): Failure {
  const why = maskedWhy(cause);
  return { code, message: redactText(message), ...(why !== undefined && { why }) };
}

/** An accepted message; with `wait` also its state when the wait ended. */
export interface InboundAnswer extends InboxAnswer {
  readonly sessionKey: string;
  /** False if this message was accepted before. */
  readonly fresh: boolean;
  readonly command?: {
    readonly name: string;
    readonly text: string;
    readonly messages?: readonly Message[];
  };
  readonly ignored?: string;
}

export const inboundAnswerSchema: z.ZodType<InboundAnswer> = z.object({
  ...inboxFields,
  sessionKey: z.string(),
  fresh: z.boolean(),
  command: maybe(z.object({ name: z.string(), text: z.string(), messages: maybe(z.array(messageSchema)) })),
  ignored: maybe(z.string()),
});
