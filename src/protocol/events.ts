import { z } from 'zod';
import type { DoneEvent, ErrorEvent, ModelFallbackEvent, TurnEvent } from '../engine/events.ts';
import type { Message } from '../messages/message.ts';
import type { Usage } from '../transcript/entry.ts';
import type { JsonObject } from '../transcript/json.ts';
import { redactJson, redactText } from '../transcript/redact/redact.ts';
import { maybe } from './maybe.ts';
import { messageSchema } from './message.ts';
import { maskedWhy } from './problem.ts';

/** The events of a stream, by `type`. A message's stream ends with exactly one `done` or `error`. */
export type StreamEvent =
  | SessionFrame
  | { readonly type: 'queued'; readonly position: number }
  | { readonly type: 'turn_start'; readonly turnId: string; readonly model: string }
  | ModelFallbackEvent
  | {
      readonly type: 'command';
      readonly name: string;
      readonly text: string;
      readonly messages?: readonly Message[];
    }
  /**
   * The turn was interrupted, or its live events are lost. `text` is the stored part of the answer: clients must drop
   * the rest.
   */
  | { readonly type: 'interrupted'; readonly turnId: string; readonly text: string }
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'thinking_delta'; readonly text: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly input: JsonObject }
  | ToolProgressFrame
  | ToolResultFrame
  | UsageFrame
  | GuardFrame
  | { readonly type: 'compaction_start'; readonly tokensBefore: number; readonly reason: string }
  | CompactionEndFrame
  | DoneFrame
  | ErrorFrame
  /** Nothing runs, so there is nothing to wait for. */
  | { readonly type: 'idle'; readonly sessionId: string };

export interface SessionFrame {
  readonly type: 'session';
  readonly sessionId: string;
  readonly sessionKey: string;
  /** Unset if the stream follows no message. */
  readonly inboxId?: string;
}

/** A running tool reports how far it is; nothing of it is stored. */
export interface ToolProgressFrame {
  readonly type: 'tool_progress';
  readonly toolCallId: string;
  readonly name: string;
  readonly text: string;
}

export interface ToolResultFrame {
  readonly type: 'tool_result';
  readonly toolCallId: string;
  readonly name: string;
  readonly text: string;
  readonly isError: boolean;
  /** Why the call was refused or failed, if there is a code for it; `text` is its English text. */
  readonly why?: Message;
  readonly durationMs?: number;
}

/** Usage of one model call. `inputTokens` counts the whole prompt, including cached tokens. */
export interface UsageFrame extends TokenUsage {
  readonly type: 'usage';
}

export interface TokenUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly totalTokens: number;
  readonly reasoningTokens?: number;
  readonly cost?: Readonly<Record<string, number>>;
}

/** The request was changed to fit into the context window, or sent again. */
export interface GuardFrame {
  readonly type: 'guard';
  readonly step: 'truncate' | 'overflow' | 'retry';
  readonly results?: number;
  readonly tokensSaved?: number;
  readonly attempt?: number;
  readonly delayMs?: number;
  readonly reason?: string;
  /** `reason` as a code. */
  readonly why?: Message;
}

export interface CompactionEndFrame {
  readonly type: 'compaction_end';
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly reason?: string;
  readonly method?: string;
  readonly coveredEntries?: number;
  /** The compaction failed; the context is unchanged. */
  readonly error?: string;
  /** `error` as a code. */
  readonly why?: Message;
}

export interface DoneFrame {
  readonly type: 'done';
  readonly sessionId: string;
  readonly turnId: string;
  readonly text: string;
  readonly usage: TokenUsage;
  /** Tokens of the context after this turn. */
  readonly tokenEstimate: number;
}

export interface ErrorFrame {
  readonly type: 'error';
  readonly sessionId: string;
  readonly code: string;
  readonly error: string;
  /** The cause as a message code; `error` is its English text. */
  readonly why?: Message;
  readonly details?: JsonObject;
}

export function isTerminalFrame(event: StreamEvent): event is DoneFrame | ErrorFrame {
  return event.type === 'done' || event.type === 'error';
}

/**
 * Converts a turn event to a stream event. @returns undefined for events that are not streamed.
 */
export function toStreamEvent(event: TurnEvent, sessionId: string): StreamEvent | undefined {
  switch (event.type) {
    case 'accepted':
    case 'entry':
      return undefined;
    case 'queued':
    case 'command':
    case 'text_delta':
    case 'thinking_delta':
    case 'tool_call':
    case 'compaction_start':
      return event;
    case 'turn_start':
      return { type: 'turn_start', turnId: event.turnId, model: event.model };
    case 'model_fallback':
      return { ...event, reason: redactText(event.reason), why: maskedWhy(event.why) };
    case 'tool_progress': {
      const { id: toolCallId, name, text } = event;
      return { type: 'tool_progress', toolCallId, name, text };
    }
    case 'tool_result': {
      const { id: toolCallId, name, text, isError, durationMs } = event;
      return { type: 'tool_result', toolCallId, name, text, isError, ...maskedCause(event), durationMs };
    }
    case 'usage':
      return { type: 'usage', ...tokenUsage(event.usage) };
    case 'retry':
      return {
        type: 'guard',
        step: 'retry',
        attempt: event.attempt,
        delayMs: event.delayMs,
        reason: redactText(event.reason),
        ...maskedCause(event),
      };
    case 'overflow':
      return {
        type: 'guard',
        step: 'overflow',
        attempt: event.attempt,
        reason: redactText(event.reason),
        ...maskedCause(event),
      };
    case 'context_truncated':
      return { type: 'guard', step: 'truncate', results: event.results, tokensSaved: event.tokensSaved };
    case 'compaction_failed': {
      const { tokensBefore, message } = event;
      const sizes = { tokensBefore, tokensAfter: tokensBefore };
      return { type: 'compaction_end', ...sizes, error: redactText(message), ...maskedCause(event) };
    }
    case 'compaction': {
      const { tokensBefore, tokensAfter, reason, method, coveredEntries } = event;
      return { type: 'compaction_end', tokensBefore, tokensAfter, reason, method, coveredEntries };
    }
    case 'done':
    case 'error':
      return terminalFrame(event, sessionId);
    default:
      event satisfies never;
      return undefined;
  }
}

export function terminalFrame(event: DoneEvent | ErrorEvent, sessionId: string): DoneFrame | ErrorFrame {
  if (event.type === 'error') {
    const { code, message, details } = event;
    return {
      ...{ type: 'error', sessionId, code },
      // A provider may repeat the key it refuses (T87).
      error: redactText(message),
      ...maskedCause(event),
      details: redactJson(details) as JsonObject,
    };
  }
  const { turnId, text, usage, tokenEstimate } = event;
  return { type: 'done', sessionId, turnId, text, usage: tokenUsage(usage), tokenEstimate };
}

function maskedCause({ why }: { readonly why?: Message }): { readonly why?: Message } {
  const masked = maskedWhy(why);
  return masked === undefined ? {} : { why: masked };
}

export function tokenUsage({
  input,
  output,
  cacheRead,
  cacheWrite,
  totalTokens,
  reasoning,
  cost,
}: Usage): TokenUsage {
  return {
    inputTokens: input + cacheRead + cacheWrite,
    outputTokens: output,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
    totalTokens,
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
    ...(cost !== undefined && { cost }),
  };
}

/** Converts to the engine's form; the inverse of `tokenUsage`. */
export function engineUsage(told: TokenUsage): Usage {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, totalTokens } = told;
  const { reasoningTokens, cost } = told;
  return {
    input: inputTokens - cacheReadTokens - cacheWriteTokens,
    output: outputTokens,
    cacheRead: cacheReadTokens,
    cacheWrite: cacheWriteTokens,
    totalTokens,
    ...(reasoningTokens !== undefined && { reasoning: reasoningTokens }),
    ...(cost !== undefined && { cost }),
  };
}

const count = z.number().int().nonnegative();
const usage = {
  inputTokens: count,
  outputTokens: count,
  cacheReadTokens: count,
  cacheWriteTokens: count,
  totalTokens: count,
  reasoningTokens: maybe(count),
  cost: maybe(z.record(z.string(), z.number())),
};
export const tokenUsageSchema: z.ZodType<TokenUsage> = z.object(usage);

const object = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>;
const type = <T extends string>(name: T): { type: z.ZodLiteral<T> } => ({ type: z.literal(name) });

/** The `data:` of one event. */
export const streamEventSchema: z.ZodType<StreamEvent> = z.discriminatedUnion('type', [
  z.object({
    ...type('session'),
    sessionId: z.string(),
    sessionKey: z.string(),
    inboxId: maybe(z.string()),
  }),
  z.object({ ...type('queued'), position: count }),
  z.object({ ...type('turn_start'), turnId: z.string(), model: z.string() }),
  z.object({
    ...type('model_fallback'),
    wanted: z.string(),
    model: z.string(),
    reason: z.string(),
    why: messageSchema,
  }),
  z.object({
    ...type('command'),
    name: z.string(),
    text: z.string(),
    messages: maybe(z.array(messageSchema)),
  }),
  z.object({ ...type('interrupted'), turnId: z.string(), text: z.string() }),
  z.object({ ...type('text_delta'), text: z.string() }),
  z.object({ ...type('thinking_delta'), text: z.string() }),
  z.object({ ...type('tool_call'), id: z.string(), name: z.string(), input: object }),
  z.object({ ...type('tool_progress'), toolCallId: z.string(), name: z.string(), text: z.string() }),
  z.object({
    ...type('tool_result'),
    toolCallId: z.string(),
    name: z.string(),
    text: z.string(),
    isError: z.boolean(),
    why: maybe(messageSchema),
    durationMs: maybe(z.number()),
  }),
  z.object({ ...type('usage'), ...usage }),
  z.object({
    ...type('guard'),
    step: z.enum(['truncate', 'overflow', 'retry']),
    results: maybe(count),
    tokensSaved: maybe(z.number()),
    attempt: maybe(count),
    delayMs: maybe(z.number()),
    reason: maybe(z.string()),
    why: maybe(messageSchema),
  }),
  z.object({ ...type('compaction_start'), tokensBefore: count, reason: z.string() }),
  z.object({
    ...type('compaction_end'),
    tokensBefore: count,
    tokensAfter: count,
    reason: maybe(z.string()),
    method: maybe(z.string()),
    coveredEntries: maybe(count),
    error: maybe(z.string()),
    why: maybe(messageSchema),
  }),
  z.object({
    ...type('done'),
    sessionId: z.string(),
    turnId: z.string(),
    text: z.string(),
    usage: z.object(usage),
    tokenEstimate: count,
  }),
  z.object({
    ...type('error'),
    sessionId: z.string(),
    code: z.string(),
    error: z.string(),
    why: maybe(messageSchema),
    details: maybe(object),
  }),
  z.object({ ...type('idle'), sessionId: z.string() }),
]);
