import type { ErrorCode } from '../errors.ts';
import type { Message } from '../messages/message.ts';
import type { Usage } from '../transcript/entry.ts';
import type { JsonObject } from '../transcript/json.ts';

/**
 * All events of a turn, in one union for the library and all surfaces. A turn ends with exactly one `done` or
 * `error`; no event follows it.
 */
export type TurnEvent =
  /** Durable: from now on the message is answered, or its failure is reported, whatever happens. */
  | { readonly type: 'accepted' }
  /** This many messages of the session come before this one. */
  | { readonly type: 'queued'; readonly position: number }
  /** The message was a command; this is its answer. */
  | {
      readonly type: 'command';
      readonly name: string;
      readonly text: string;
      readonly messages: readonly Message[];
    }
  | {
      readonly type: 'turn_start';
      readonly turnId: string;
      readonly model: string;
      /** The last entry stored before the turn. */
      readonly seq: number;
    }
  /** Follows `turn_start`, or comes later if the provider reports that it does not know the model. */
  | ModelFallbackEvent
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'thinking_delta'; readonly text: string }
  | { readonly type: 'tool_call'; readonly id: string; readonly name: string; readonly input: JsonObject }
  /** A running tool reports how far it is. Not stored. */
  | { readonly type: 'tool_progress'; readonly id: string; readonly name: string; readonly text: string }
  | {
      readonly type: 'tool_result';
      readonly id: string;
      readonly name: string;
      readonly isError: boolean;
      readonly text: string;
      /** Why the call failed or was refused, if there is a code for it. */
      readonly why?: Message;
      readonly durationMs: number;
    }
  /** The usage of one model call. */
  | { readonly type: 'usage'; readonly usage: Usage }
  /** The provider was not ready, or the disk had no room for the message: the same is tried again. */
  | {
      readonly type: 'retry';
      readonly attempt: number;
      readonly delayMs: number;
      /** In English and as a code. */
      readonly reason: string;
      readonly why: Message;
    }
  | GuardEvent
  /** An entry was stored. */
  | { readonly type: 'entry'; readonly seq: number; readonly entryType: string }
  | DoneEvent
  | ErrorEvent;

/** The session names a model that cannot be used, so `model` answers instead. */
export interface ModelFallbackEvent {
  readonly type: 'model_fallback';
  readonly wanted: string;
  readonly model: string;
  /** Why it cannot be used, in English and as a code. */
  readonly reason: string;
  readonly why: Message;
}

/** The context did not fit, and the guard took a step. */
export type GuardEvent =
  | {
      readonly type: 'context_truncated';
      /** How many tool results were shortened. */
      readonly results: number;
      readonly tokensSaved: number;
    }
  /** Followed by `compaction` or `compaction_failed`. */
  | { readonly type: 'compaction_start'; readonly reason: string; readonly tokensBefore: number }
  | {
      readonly type: 'compaction_failed';
      readonly tokensBefore: number;
      /** Why, in English and as a code. */
      readonly message: string;
      readonly why: Message;
    }
  | {
      readonly type: 'compaction';
      readonly seq: number;
      readonly reason: string;
      readonly method: string;
      readonly coveredEntries: number;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
    }
  | { readonly type: 'overflow'; readonly attempt: number; readonly reason: string; readonly why: Message };

export interface DoneEvent {
  readonly type: 'done';
  readonly turnId: string;
  readonly text: string;
  readonly usage: Usage;
  /** Tokens of the context after this turn. */
  readonly tokenEstimate: number;
  /** The usage of the turn as text, if the session shows it under each reply. */
  readonly usageLine?: string;
  /** `usageLine` as a code with the numbers. */
  readonly usageMessage?: Message;
}

export interface ErrorEvent {
  readonly type: 'error';
  readonly code: ErrorCode;
  readonly message: string;
  /** The cause as a code; unset for an error of a model or tool without a code. */
  readonly why?: Message;
  readonly details: JsonObject;
}

/** An event with its session and message. */
export interface SessionEvent {
  readonly sessionId: string;
  /** The message that caused the event; unset for events without one, such as a manual compaction. */
  readonly inboxId?: string;
  /** Epoch of the lease of the turn: every other run has a different one, in any process. */
  readonly epoch?: number;
  readonly event: TurnEvent;
}

export function isTerminal(event: TurnEvent): event is DoneEvent | ErrorEvent {
  return event.type === 'done' || event.type === 'error';
}
