import { z } from 'zod';
import type { InboundMessage } from '../engine/intake/inbound.ts';
import type { InboxStatus } from '../engine/reprise.ts';
import type { Message } from '../messages/message.ts';
import { redactText } from '../transcript/redact/redact.ts';
import { maybe } from './maybe.ts';
import { messageSchema } from './message.ts';
import { maskedWhy } from './problem.ts';

type Image = NonNullable<InboundMessage['images']>[number];

/** What every message may carry, whichever door it comes through. */
interface MessageFields
  extends Omit<InboundMessage, 'text' | 'channel' | 'agentId' | 'images' | 'idempotencyKey' | 'system'> {
  readonly images?: readonly Image[];
}

export interface ChatRequest extends MessageFields {
  readonly message: string;
  readonly channel?: string;
  /** An entry: said in place of that message, with its images; what followed stays as a branch. */
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

/** A front end of ZyHive sends these as well. ZyHive keeps the history itself, and so do we. */
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
      'The id of a message of `sessionId`: this is said in its place, with its images, and what followed stays as a branch.',
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
  /** The message that is answered or will be next. */
  readonly inboxId?: string;
  readonly turnId?: string;
  /** How many messages wait. */
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
  /** Tasks of children, and of theirs, that were stopped with it. */
  readonly children: number;
}

export const stopAnswerSchema: z.ZodType<StopAnswer> = z.object({
  stopped: z.boolean(),
  cancelled: z.int(),
  children: z.int(),
});

/** What became of an accepted message. */
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

/** Why it failed is told without what a provider may have repeated of a key (T87). */
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

/** A message that was taken in; with `wait` also what became of it meanwhile. */
export interface InboundAnswer extends InboxAnswer {
  readonly sessionKey: string;
  /** False: this very message was accepted before. */
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
