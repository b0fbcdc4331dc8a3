import type { ErrorCode } from '../errors.ts';
import type { Message } from '../messages/message.ts';
import type { AssistantMessage, StopReason, Usage } from '../transcript/entry.ts';
import type { JsonObject } from '../transcript/json.ts';
import type { ProjectedMessage } from '../transcript/render/conversation.ts';
import type { Target } from '../transcript/render/target.ts';

/**
 * The port to language models. A model sees only the request, answers as a stream, and fails with a `RepriseError`:
 * MODEL_AUTH, MODEL_UNKNOWN, MODEL_RATE_LIMITED, MODEL_FAILED, MODEL_TIMEOUT, CONTEXT_OVERFLOW or ABORTED. Models
 * store no conversation, so one object may serve many callers at once.
 */
export interface Model {
  /** The provider's name for the model; `provider` and `id` are stored with each answer. */
  readonly id: string;
  readonly provider: string;
  /** Name of the wire format, as stored in `api` of an answer. */
  readonly api: string;
  /** The target for which a history must be projected before it is sent here. */
  readonly target: Target;
  /** In tokens, if known. */
  readonly contextWindow?: number;
  /** Maximum number of tokens in one answer. */
  readonly maxOutput?: number;
  readonly cost?: ModelCost;
  /** The last event of a successful stream is `finish`; any other end throws. */
  stream(request: ModelRequest, options?: ModelStreamOptions): AsyncIterable<ModelEvent>;
}

/** Prices per million tokens, in one currency. Without a price for cached tokens, the input price applies. */
export interface ModelCost {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

export interface ModelTool {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the input; the top level is an object. */
  readonly inputSchema: JsonObject;
}

export type ThinkingLevel = 'off' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export interface ModelRequest {
  readonly system?: string;
  /** Projected for `target` of this model. */
  readonly messages: readonly ProjectedMessage[];
  readonly tools?: readonly ModelTool[];
  readonly maxOutputTokens?: number;
  /** Unset: the provider's default. */
  readonly temperature?: number;
  /** Unset: the provider's default. */
  readonly thinkingLevel?: ThinkingLevel;
  /** `off` for requests that will not be continued, such as summaries: writing to a prompt cache costs extra. */
  readonly cache?: 'auto' | 'off';
  /** Shared by requests with a common start, for providers that route by it: the session's id. */
  readonly cacheKey?: string;
}

export interface ModelStreamOptions {
  /** Ends the stream with ABORTED at once, whatever it waits for. */
  readonly signal?: AbortSignal;
}

/** `block` is the index in the answer's content, so that the stored answer has the model's blocks. */
export type ModelEvent =
  | { readonly type: 'text_delta'; readonly block: number; readonly text: string }
  | {
      readonly type: 'thinking_delta';
      readonly block: number;
      readonly text: string;
      /** Comes with the last delta of its block; opaque, byte-exact. */
      readonly signature?: string;
      /** The thinking is hidden; only the signature exists. */
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

/** Emitted for complete calls of answers that ended normally, never for the rest of a broken stream. */
export interface ToolCallEvent {
  readonly type: 'tool_call';
  readonly block: number;
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Set if the arguments are not a JSON object or were cut off: `input` is empty, and the call must not run. */
  readonly rawArguments?: string;
  /** Opaque, byte-exact. */
  readonly signature?: string;
}

export interface FinishEvent {
  readonly type: 'finish';
  readonly stopReason: StopReason;
  /** Missing if the provider reported none: a guess here would spoil every calibration. */
  readonly usage?: Usage;
  /** Ready to be stored. */
  readonly message: AssistantMessage;
  /** The provider's id of this answer. */
  readonly responseId?: string;
}
