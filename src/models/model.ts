import type { ErrorCode } from '../errors.ts';
import type { Message } from '../messages/message.ts';
import type { AssistantMessage, StopReason, Usage } from '../transcript/entry.ts';
import type { JsonObject } from '../transcript/json.ts';
import type { ProjectedMessage } from '../transcript/render/conversation.ts';
import type { Target } from '../transcript/render/target.ts';

/**
 * The port to language models. A model sees what the request says and nothing else, answers as a stream, and
 * fails with a `RepriseError`: MODEL_AUTH, MODEL_UNKNOWN, MODEL_RATE_LIMITED, MODEL_FAILED, MODEL_TIMEOUT,
 * CONTEXT_OVERFLOW or ABORTED. Models keep no conversation, so one object may serve many at once.
 */
export interface Model {
  /** The provider's own name for the model; `provider` and `id` are what a stored answer is signed with. */
  readonly id: string;
  readonly provider: string;
  /** Name of the wire format, as stored in `api` of an answer. */
  readonly api: string;
  /** Whom a history is to be projected for before it is sent here. */
  readonly target: Target;
  /** In tokens, where it is known. */
  readonly contextWindow?: number;
  /** The most tokens one answer may have. */
  readonly maxOutput?: number;
  readonly cost?: ModelCost;
  /** The last event of a stream that ends well is `finish`; any other end is thrown. */
  stream(request: ModelRequest, options?: ModelStreamOptions): AsyncIterable<ModelEvent>;
}

/** Prices per million tokens, in one currency. Cached tokens without a price of their own cost as input. */
export interface ModelCost {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

export interface ModelTool {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the input; an object at its top. */
  readonly inputSchema: JsonObject;
}

export type ThinkingLevel = 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export interface ModelRequest {
  readonly system?: string;
  /** Projected for `target` of this very model. */
  readonly messages: readonly ProjectedMessage[];
  readonly tools?: readonly ModelTool[];
  readonly maxOutputTokens?: number;
  /** Unset: the provider's default. */
  readonly thinkingLevel?: ThinkingLevel;
  /** `off` for requests nobody will continue, such as summaries: writing to a prompt cache costs extra. */
  readonly cache?: 'auto' | 'off';
  /** Requests that share a beginning share this, for providers that route by it: the session's id. */
  readonly cacheKey?: string;
}

export interface ModelStreamOptions {
  /** Ends the stream with ABORTED at once, whatever it waits for. */
  readonly signal?: AbortSignal;
}

/** `block` is the place in the answer's content, so that what is stored has the blocks the model made. */
export type ModelEvent =
  | { readonly type: 'text_delta'; readonly block: number; readonly text: string }
  | {
      readonly type: 'thinking_delta';
      readonly block: number;
      readonly text: string;
      /** Comes with the last delta of its block; opaque, byte-exact. */
      readonly signature?: string;
      /** The thinking is hidden and all there is of it is the signature. */
      readonly redacted?: boolean;
    }
  | ToolCallEvent
  /** Nothing had arrived, so the same request is sent again after `delayMs`. */
  | {
      readonly type: 'retry';
      readonly attempt: number;
      readonly delayMs: number;
      readonly code: ErrorCode;
      readonly reason: string;
      /** `reason` as a code. */
      readonly why?: Message;
    }
  | FinishEvent;

/** Sent for whole calls of answers that ended well, never for what a broken stream left behind. */
export interface ToolCallEvent {
  readonly type: 'tool_call';
  readonly block: number;
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Set where the arguments are no JSON object or were cut off: `input` is empty and the call must not run. */
  readonly rawArguments?: string;
  /** Opaque, byte-exact. */
  readonly signature?: string;
}

export interface FinishEvent {
  readonly type: 'finish';
  readonly stopReason: StopReason;
  /** Missing where the provider reported none: a guess here would spoil every calibration. */
  readonly usage?: Usage;
  /** Ready to be stored as it is. */
  readonly message: AssistantMessage;
  /** The provider's name for this answer. */
  readonly responseId?: string;
}
