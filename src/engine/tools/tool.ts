import type { ImageBlock, TextBlock } from '../../transcript/entry.ts';
import type { JsonObject } from '../../transcript/json.ts';

/** A tool that a model can call; see `tool`. An exception becomes an error result, and the turn continues. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input; the top level is an object. */
  readonly inputSchema: JsonObject;
  /** Checks and converts the input before `run`. Unset: the input must fit `inputSchema`. */
  readonly parse?: (input: JsonObject) => Promise<ParsedInput> | ParsedInput;
  /** True if running it twice is harmless, so that a turn that crashed may be resumed after it. */
  readonly safe?: boolean;
  /** How long a call may take, in ms. Default: 120,000. */
  readonly timeoutMs?: number;
  /** Longer results are shortened in the middle. Default: 200,000. */
  readonly maxOutputChars?: number;
  run(input: JsonObject, context: ToolContext): Promise<ToolOutput> | ToolOutput;
}

/** The input for `run`, or what is wrong with it, for the model to read. */
export type ParsedInput = { readonly value: unknown } | { readonly issues: readonly string[] };

/** The session that a tool works for. */
export interface ToolSession {
  readonly id: string;
  readonly key: string;
  readonly agentId: string;
}

export interface ToolContext {
  readonly session: ToolSession;
  /** Who wrote the message that the turn answers, if its channel or program named the sender. */
  readonly user?: string;
  readonly toolCallId: string;
  /** Aborts on timeout, when the turn is stopped, and when another runner takes the session. */
  readonly signal: AbortSignal;
  /** Emits a `tool_progress` event: one line for people who wait. At most ten per second; nothing is stored. */
  readonly progress: (text: string) => void;
  /** Waits for another session: meanwhile other turns may run, and this turn does not count as stuck. */
  readonly aside: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Text and images, as the model sees them. */
export interface ToolContent {
  readonly content: readonly (TextBlock | ImageBlock)[];
  /** The call failed: the model sees an error. */
  readonly isError?: boolean;
}

/**
 * What a tool returns: text, `ToolContent`, or any other value that JSON can hold. `{ isError: true, ... }` marks a
 * failure; the other properties are what the model reads.
 */
export type ToolOutput = string | number | boolean | object | null | undefined;
