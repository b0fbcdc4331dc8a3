import type { ImageBlock, TextBlock } from '../../transcript/entry.ts';
import type { JsonObject } from '../../transcript/json.ts';

/** Something a model can ask for. What it throws becomes an error result; the turn goes on. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input; an object at its top. */
  readonly inputSchema: JsonObject;
  /** True: running it twice does no harm, so a turn that crashed may be resumed after it. */
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
  /** Aborts on timeout, when the turn is stopped, and when the session is lost to another runner. */
  readonly signal: AbortSignal;
  /** Waits for another session: meanwhile others may run, and the turn does not count as stuck. */
  readonly aside: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Text, blocks, or anything JSON can say. */
export type ToolOutput = string | { readonly content: readonly (TextBlock | ImageBlock)[] } | JsonObject;
