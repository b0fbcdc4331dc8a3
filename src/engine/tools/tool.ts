import type { ImageBlock, TextBlock } from '../../transcript/entry.ts';
import type { JsonObject } from '../../transcript/json.ts';

/** A tool that a model can call. An exception becomes an error result, and the turn continues. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input; the top level is an object. */
  readonly inputSchema: JsonObject;
  /** True if running it twice is harmless, so that a turn that crashed may be resumed after it. */
  readonly safe?: boolean;
  readonly timeoutMs?: number;
  readonly maxOutputChars?: number;
  run(input: JsonObject, context: ToolContext): Promise<ToolOutput> | ToolOutput;
}

export interface ToolContext {
  readonly sessionId: string;
  readonly sessionKey: string;
  readonly agentId: string;
  readonly toolCallId: string;
  /** Aborts on timeout, when the turn is stopped, and when another runner takes the session. */
  readonly signal: AbortSignal;
  /** Waits for another session: meanwhile other turns may run, and this turn does not count as stuck. */
  readonly aside: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Text, blocks, or any JSON object. */
export type ToolOutput = string | { readonly content: readonly (TextBlock | ImageBlock)[] } | JsonObject;
